package intake

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// The encodings that a file is found to have.
const (
	encUTF8    = "utf-8"
	encUTF16LE = "utf-16le"
	encUTF16BE = "utf-16be"
	encCP1252  = "windows-1252"
	encMixed   = "utf-8 with windows-1252 bytes"
)

var bom = []byte("\ufeff")

// text reads any of the encodings in use as UTF-8. It decides on UTF-16 by the
// first bytes; between UTF-8 and windows-1252 it decides as it goes, because the
// first accented letter may come at the end of a large file.
type text struct {
	io.Reader
	utf16  string
	guess  cp1252Fallback
	counts *countingReader
}

func newText(r io.Reader) (*text, error) {
	t := &text{counts: &countingReader{r: r}}
	br := bufio.NewReaderSize(t.counts, 4096)
	head, err := br.Peek(512)
	if err != nil && err != io.EOF && len(head) == 0 {
		return nil, err
	}
	t.utf16 = utf16Of(head)
	switch t.utf16 {
	case encUTF16LE:
		t.Reader = transform.NewReader(br, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	case encUTF16BE:
		t.Reader = transform.NewReader(br, unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder())
	default:
		t.Reader = transform.NewReader(br, &t.guess)
	}
	return t, nil
}

// encoding is what the text read so far was found to be.
func (t *text) encoding() string {
	switch {
	case t.utf16 != "":
		return t.utf16
	case t.guess.single == 0:
		return encUTF8
	case t.guess.looksSingle() || t.guess.multi == 0:
		return encCP1252
	default:
		return encMixed
	}
}

// utf16Of tells UTF-16 by its byte order mark or, without one, by the zero bytes
// that ASCII characters (delimiters, digits, line ends) have in every second
// place. A stray NUL in other text is far too rare to look like it.
func utf16Of(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return encUTF16LE
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return encUTF16BE
	}
	pairs := len(head) / 2
	var even, odd int
	for i := range pairs {
		if head[2*i] == 0 {
			even++
		}
		if head[2*i+1] == 0 {
			odd++
		}
	}
	switch {
	case pairs < 2:
		return ""
	case odd*2 > pairs && even*10 < pairs:
		return encUTF16LE
	case even*2 > pairs && odd*10 < pairs:
		return encUTF16BE
	}
	return ""
}

// cp1252Fallback passes UTF-8 on and reads every byte that cannot be UTF-8 as
// windows-1252, so that no character is lost in a file of either encoding or one
// pasted together from both. Once nearly all of what is not ASCII has proved to
// be windows-1252, the few pairs that happen to look like UTF-8 ("É’") are read
// as such too.
type cp1252Fallback struct {
	multi  int // characters beyond ASCII that were valid UTF-8
	single int // bytes that were not
}

func (c *cp1252Fallback) looksSingle() bool { return c.single >= 8 && c.single > 8*c.multi }

// Reset is part of transform.Transformer; the counts are of the whole file.
func (c *cp1252Fallback) Reset() {}

// Transform is part of transform.Transformer.
func (c *cp1252Fallback) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		if b := src[nSrc]; b < utf8.RuneSelf {
			if nDst == len(dst) {
				return nDst, nSrc, transform.ErrShortDst
			}
			dst[nDst] = b
			nDst, nSrc = nDst+1, nSrc+1
			continue
		}
		if !atEOF && !utf8.FullRune(src[nSrc:]) {
			return nDst, nSrc, transform.ErrShortSrc
		}
		if nDst+utf8.UTFMax > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		r, size := utf8.DecodeRune(src[nSrc:])
		valid := r != utf8.RuneError || size > 1
		switch {
		case !valid:
			c.single++
		case r != '\ufeff':
			c.multi++
		}
		if !valid || c.looksSingle() {
			r, size = charmap.Windows1252.DecodeByte(src[nSrc]), 1
		}
		nDst += utf8.EncodeRune(dst[nDst:], r)
		nSrc += size
	}
	return nDst, nSrc, nil
}

// countingReader counts the bytes of the file, before any decoding.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
