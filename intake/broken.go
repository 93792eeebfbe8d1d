package intake

import (
	"bytes"
	"fmt"
	"strings"
)

// splitter cuts a CSV stream into records and finds its way again after a broken
// one: only what cannot stand on its own is given up.
type splitter struct {
	w     *window
	delim byte
	table table
}

// table is what the splitter must know of the rows to tell them apart.
type table interface {
	// fits reports whether a record stands on its own as a row.
	fits(*record) bool
	// anchored reports the same for certain: as many cells as the header, and an
	// address in the right one.
	anchored(*record) bool
	// width is how many cells the header has.
	width() int
}

// A fault is why a record cannot be read.
type fault struct {
	reason, cure string
	raw          []string
}

// peek scans the record at the window's beginning without consuming it. The
// record is whole only when the verdict is complete.
func (s *splitter) peek(delim byte, oneLine bool) (record, verdict, error) {
	sc := scan{delim: delim, oneLine: oneLine}
	for {
		v := sc.run(s.w.bytes(), s.w.eof)
		if v != incomplete {
			return sc.rec, v, nil
		}
		grew, err := s.w.grow()
		if err != nil {
			return record{}, incomplete, err
		}
		if !grew && !s.w.eof {
			return sc.rec, oversize, nil
		}
	}
}

// atEnd reports whether nothing is left to read.
func (s *splitter) atEnd() (bool, error) {
	if len(s.w.bytes()) > 0 {
		return false, nil
	}
	grew, err := s.w.grow()
	return !grew && err == nil, err
}

// next returns the next record or the fault that it has; ok is false at the end
// of the stream. line is where the record begins.
func (s *splitter) next() (rec record, f *fault, line int, ok bool, err error) {
	end, err := s.atEnd()
	if err != nil || end {
		return record{}, nil, s.w.line, false, err
	}
	line = s.w.line
	rec, v, err := s.peek(s.delim, false)
	if err != nil {
		return record{}, nil, line, false, err
	}
	if v == complete && (rec.lines < 2 || !s.swallows(&rec)) {
		s.w.take(rec.size, rec.lines)
		return rec, nil, line, true, nil
	}
	if v == misquoted { // `"Ann "Nan" Roe",x`: readable if all cells are there
		r, v, err := s.peek(s.delim, true)
		if err != nil {
			return record{}, nil, line, false, err
		}
		if v == complete && s.table.fits(&r) {
			s.w.take(r.size, r.lines)
			return r, nil, line, true, nil
		}
	}
	f, err = s.giveUp(v)
	return record{}, f, line, err == nil, err
}

// swallows reports whether a record of several lines has, by a quote too many,
// taken in the rows that follow: the second of its lines is a row by itself, and
// the record either is not or holds an address in the right column of that row.
func (s *splitter) swallows(rec *record) bool {
	_, size, whole := lineIn(rec.buf[:rec.size])
	if !whole || size == rec.size {
		return false
	}
	sc := scan{delim: s.delim, oneLine: true}
	second := rec.buf[size:rec.size]
	if sc.run(second, true) != complete || len(sc.rec.cells) < 2 {
		return false
	}
	return s.table.anchored(&sc.rec) || !s.table.fits(rec) && s.table.fits(&sc.rec)
}

// giveUp consumes the broken record at the window's beginning: its first line
// and those behind it that cannot stand on their own.
func (s *splitter) giveUp(v verdict) (*fault, error) {
	line, size, whole, err := s.w.peekLine()
	if err != nil {
		return nil, err
	}
	f := &fault{reason: "has a quote in the wrong place", cure: "write a quote inside a quoted cell twice, or remove it"}
	switch {
	case !whole:
		f.reason, f.cure = tooLong, "shorten it, or look for a missing closing quote"
	case v != misquoted:
		f.reason, f.cure = "opens a quote that is not closed", "close the quote or remove it"
	}
	f.raw = s.cellsOf(line)
	first, last := s.w.line, 0
	if whole {
		s.w.take(size, 1)
	} else {
		err = s.w.skipLine()
	}
	if err == nil {
		last = s.resume(f)
	}
	if last > first {
		f.reason += fmt.Sprintf(" (lines %d to %d)", first, last)
	}
	// An error here is the stream's. The row comes first; the window keeps the
	// error and gives it again at the next look.
	return f, nil
}

var tooLong = fmt.Sprintf("is longer than %d KiB", MaxRow>>10)

// maxGivenUp bounds what one broken row can take with it, in bytes.
const maxGivenUp = 16 * MaxRow

// resume consumes lines up to one that is a row, or the end of the stream, or
// the bound, and adds them to the fault's last cell. It returns the last line
// with text that it consumed.
func (s *splitter) resume(f *fault) (last int) {
	var more strings.Builder
	defer func() {
		if i := len(f.raw) - 1; i >= 0 {
			f.raw[i] += more.String()
		}
	}()
	for n := 0; n < maxGivenUp; {
		if end, err := s.atEnd(); end || err != nil || s.atRow() {
			return last
		}
		line, size, _, err := s.w.peekLine()
		if err != nil {
			return last
		}
		if !isBlank(string(line)) {
			last = s.w.line
		}
		if more.Len() < maxRawBytes {
			more.WriteString("\n" + string(line))
		}
		n += size
		if s.w.skipLine() != nil {
			return last
		}
	}
	return last
}

// atRow reports whether the window begins with a row, good or broken, rather
// than with what a broken one left behind.
func (s *splitter) atRow() bool {
	for _, oneLine := range []bool{false, true} {
		rec, v, err := s.peek(s.delim, oneLine)
		if err == nil && v == complete && !rec.isBlankLine() && s.table.fits(&rec) {
			return true
		}
	}
	line, _, whole, err := s.w.peekLine()
	n := s.table.width()
	return err == nil && whole && n > 1 && bytes.Count(line, []byte{s.delim}) == n-1
}

// cellsOf cuts one line into cells as well as it can.
func (s *splitter) cellsOf(line []byte) []string {
	sc := scan{delim: s.delim, oneLine: true}
	if sc.run(line, true) == complete {
		return sc.rec.strings()
	}
	// An open quote: the delimiters behind it are taken for what they are.
	var cells []string
	from := 0
	for i := 0; i <= len(line) && len(cells) < maxRawCells; i++ {
		if i == len(line) || line[i] == s.delim {
			cells = append(cells, string(line[from:i]))
			from = i + 1
		}
	}
	return cells
}
