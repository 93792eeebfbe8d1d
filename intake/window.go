package intake

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxRow is the longest row in bytes. A longer one is rejected and read past
// without being kept. Excel's longest cell has 32,767 characters, so that a real
// row seldom comes near it.
const MaxRow = 256 << 10

// window is the part of the stream that is being looked at. It grows on demand
// up to MaxRow; nothing is consumed until take says so.
type window struct {
	br   *bufio.Reader
	line int // the line, 1-based, at which the window begins
	eof  bool
	err  error // why the stream cannot go on
}

func newWindow(r io.Reader) *window {
	return &window{br: bufio.NewReaderSize(r, MaxRow), line: 1}
}

// bytes is what the window holds, valid until grow or skip.
func (w *window) bytes() []byte {
	b, _ := w.br.Peek(w.br.Buffered()) // cannot fail: it asks for what is there
	return b
}

// grow reads more into the window. It reports false at the end of the stream
// and when the window is full; bytes that are there may have moved.
func (w *window) grow() (bool, error) {
	if w.err != nil || w.eof || w.full() {
		return false, w.err
	}
	_, err := w.br.Peek(w.br.Buffered() + 1)
	switch {
	case errors.Is(err, io.EOF):
		w.eof = true
		return false, nil
	case err != nil:
		w.err = err
		return false, err
	}
	return true, nil
}

func (w *window) full() bool { return w.br.Buffered() == w.br.Size() }

// take consumes n bytes of the window, which hold that many line ends.
func (w *window) take(n, lines int) {
	_, _ = w.br.Discard(n) // cannot fail: n bytes are buffered
	w.line += lines
}

// peekLine looks at the next line. size counts its line end too; whole is false
// when the line is longer than the window, and size 0 at the end of the stream.
func (w *window) peekLine() (line []byte, size int, whole bool, err error) {
	from := 0
	for {
		b := w.bytes()
		if i := bytes.IndexAny(b[from:], "\r\n"); i >= 0 {
			i += from
			switch {
			case b[i] == '\n':
				return b[:i], i + 1, true, nil
			case i+1 < len(b) && b[i+1] == '\n':
				return b[:i], i + 2, true, nil
			case i+1 < len(b) || w.eof:
				return b[:i], i + 1, true, nil
			}
			from = i
		} else {
			from = len(b)
		}
		grew, err := w.grow()
		switch {
		case err != nil:
			return nil, 0, false, err
		case !grew && w.eof:
			b = w.bytes()
			return bytes.TrimRight(b, "\r"), len(b), true, nil
		case !grew:
			return b, len(b), false, nil
		}
	}
}

// skipLine consumes the next line however long it is.
func (w *window) skipLine() error {
	for {
		_, size, whole, err := w.peekLine()
		if err != nil {
			return err
		}
		if whole {
			w.take(size, 1)
			return nil
		}
		// A CR at the very end may be half of a CRLF: leave it for the next look.
		if b := w.bytes(); b[len(b)-1] == '\r' {
			size--
		}
		w.take(size, 0)
	}
}

// lineIn is peekLine in bytes that are all there is.
func lineIn(b []byte) (line []byte, size int, whole bool) {
	i := bytes.IndexAny(b, "\r\n")
	switch {
	case i < 0:
		return b, len(b), false
	case b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n':
		return b[:i], i + 2, true
	default:
		return b[:i], i + 1, true
	}
}
