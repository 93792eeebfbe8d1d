package intake

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"backstop/lead"
)

// delimiters that are tried, the likeliest first.
var delimiters = []byte{',', ';', '\t', '|'}

// maxPreamble is how many lines may stand before the header: a title, or the
// notes with which LinkedIn begins its export.
const maxPreamble = 20

var sepLine = regexp.MustCompile(`^(?:\x{feff})?"?(?i:sep)=([^\r\n"])"?[,;\t|]*$`)

// readSep obeys Excel's "sep=;" line.
func (c *csvSource) readSep() error {
	line, size, whole, err := c.s.w.peekLine()
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if m := sepLine.FindSubmatch(line); whole && m != nil && len(m[1]) == 1 {
		c.s.delim = m[1][0]
		c.s.w.take(size, 1)
	}
	return nil
}

// readHeader finds the header line and with it the delimiter: the one under
// which the most columns are known.
func (c *csvSource) readHeader(sch *schema) error {
	var unusable error // about the first line that might have been meant as one
	var mapErr error
	for range maxPreamble {
		end, err := c.s.atEnd()
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if end {
			break
		}
		best, err := c.bestHeader(sch)
		if err != nil {
			return err
		}
		line := c.s.w.line
		switch {
		case best.usable:
			c.l, c.s.delim = best.l, best.delim
			c.s.w.take(best.size, best.lines)
			return nil
		case best.hasAddress:
			if unusable == nil {
				unusable = fmt.Errorf("line %d looks like data, not like a header: put a header line above it, such as email,name,company", line)
			}
			return errors.Join(mapErr, unusable)
		case best.filled > 0 && unusable == nil:
			unusable = fmt.Errorf("line %d: no column for %s is known: rename one, or name it with --map, such as --map email=HEADER", line, sch.what)
		}
		if mapErr == nil && best.mapErr != nil && best.filled > 0 {
			mapErr = fmt.Errorf("line %d: %w", line, best.mapErr)
		}
		if best.filled > 2 || !best.readable {
			break // a title has a cell or two: this was meant as the header
		}
		c.s.w.take(best.size, best.lines)
	}
	switch {
	case mapErr != nil:
		return mapErr
	case unusable != nil:
		return unusable
	}
	return errors.New("the file is empty: it needs a header line, such as email,name,company, and rows below it")
}

// candidate is a line read as a header.
type candidate struct {
	l           *layout
	delim       byte
	size, lines int
	cells       int
	filled      int  // cells that are not blank
	hasAddress  bool // it holds an email address, so that it is data
	readable    bool
	usable      bool
	mapErr      error
}

func (c *csvSource) bestHeader(sch *schema) (candidate, error) {
	tries := delimiters
	if c.s.delim != 0 {
		tries = []byte{c.s.delim}
	}
	var best candidate
	for i, d := range tries {
		got, err := c.tryHeader(sch, d)
		if err != nil {
			return best, fmt.Errorf("read: %w", err)
		}
		if i == 0 || got.betterThan(best) {
			best = got
		}
	}
	if !best.readable {
		return best, fmt.Errorf("line %d: the header has a quote in the wrong place or is too long: correct it", c.s.w.line)
	}
	return best, nil
}

func (a candidate) betterThan(b candidate) bool {
	switch {
	case a.readable != b.readable:
		return a.readable
	case a.usable != b.usable:
		return a.usable
	case a.usable && a.l.known != b.l.known:
		return a.l.known > b.l.known
	case (a.mapErr == nil) != (b.mapErr == nil):
		return a.mapErr == nil
	}
	return a.cells > b.cells
}

func (c *csvSource) tryHeader(sch *schema, delim byte) (candidate, error) {
	rec, v, err := c.s.peek(delim, false)
	if err == nil && v != complete {
		rec, v, err = c.s.peek(delim, true)
	}
	if err != nil || v != complete {
		return candidate{delim: delim}, err
	}
	got := candidate{delim: delim, size: rec.size, lines: rec.lines, cells: len(rec.cells), readable: true}
	headers := rec.strings()
	for i, h := range headers {
		headers[i] = strings.TrimFunc(h, func(r rune) bool { return isBlank(string(r)) })
		if headers[i] != "" {
			got.filled++
		}
		got.hasAddress = got.hasAddress || isAddress(headers[i])
	}
	if got.l, got.mapErr = sch.resolve(headers); got.mapErr != nil {
		return got, nil
	}
	rejectsOfJSON := len(headers) == len(rejectHeaders)+1 && headers[got.l.first] == jsonHeader
	got.usable = !got.hasAddress && (sch.usable(got.l) || rejectsOfJSON)
	return got, nil
}

// isAddress reports whether a cell is one email address and nothing else.
func isAddress(s string) bool {
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, " \t\r\n") || !strings.Contains(s, "@") {
		return false
	}
	e, err := lead.NormalizeEmail(s)
	return err == nil && e != ""
}
