package intake

import (
	"bytes"
	"strings"
)

// A verdict is what scanning a record came to.
type verdict int

const (
	incomplete verdict = iota // the window ends inside the record
	complete                  // the record ends where record.size says
	misquoted                 // a closing quote is followed by text
	unclosed                  // the text ends inside quotes
	oversize                  // the record does not fit into the window
)

// span is a cell's place in the window.
type span struct {
	from, to int
	quoted   bool
	escaped  bool // holds quotes to be taken as one
}

// record is one row of a CSV file as it lies in the window. It is valid until
// the splitter moves on.
type record struct {
	buf   []byte
	cells []span
	size  int // in bytes, its line end included
	lines int // line ends in it
}

func (r *record) cell(i int) string {
	if i >= len(r.cells) {
		return ""
	}
	c := r.cells[i]
	s := string(r.buf[c.from:c.to])
	if c.escaped {
		s = strings.ReplaceAll(s, `""`, `"`)
	}
	return s
}

func (r *record) strings() []string {
	out := make([]string, len(r.cells))
	for i := range out {
		out[i] = r.cell(i)
	}
	return out
}

// isBlankLine reports whether the record is an empty line, which is no row.
func (r *record) isBlankLine() bool {
	return len(r.cells) == 1 && !r.cells[0].quoted && isBlank(r.cell(0))
}

type scanState int

const (
	atCellStart scanState = iota
	inPlain
	inQuotes
	afterQuote // a quote inside quotes: the end, or the first half of a pair
	afterCell  // spaces behind a closed quote
	afterCR    // a CR ended the record; an LF may belong to it
)

// scan finds the end and the cells of one record. It can be fed a growing
// window: it goes on where it stopped. Line ends are LF, CRLF and CR.
//
// With oneLine set it reads a single line as well as it can, for rows that are
// broken: quotes inside quotes count as text unless a delimiter follows, and a
// line end inside quotes is an error.
type scan struct {
	delim   byte
	oneLine bool

	rec    record
	state  scanState
	pos    int
	cell   span
	wasCR  bool // the last byte inside quotes was a CR
	spaces int  // where the spaces behind a closed quote begin
}

func (s *scan) run(buf []byte, eof bool) verdict {
	s.rec.buf = buf
	for s.pos < len(buf) {
		c := buf[s.pos]
		switch s.state {
		case atCellStart:
			if c == ' ' && s.delim != ' ' {
				s.pos++
				continue
			}
			if c == bom[0] { // files pasted together have one in the middle
				if len(buf)-s.pos < len(bom) && !eof {
					return incomplete
				}
				if bytes.HasPrefix(buf[s.pos:], bom) {
					s.pos += len(bom)
					s.cell.from = s.pos
					continue
				}
			}
			s.state = inPlain
			if c == '"' {
				s.pos++
				s.state, s.cell = inQuotes, span{from: s.pos, quoted: true}
			}
		case inPlain:
			if s.endsCell(c, s.pos) {
				return complete
			}
		case inQuotes:
			if v := s.quoted(c); v != complete {
				return v
			}
		case afterQuote, afterCell:
			if v, ended := s.closing(c); ended {
				return v
			}
		case afterCR:
			if c == '\n' {
				s.pos++
			}
			return s.done()
		}
	}
	if !eof {
		return incomplete
	}
	return s.atEOF()
}

// quoted handles a byte inside quotes; complete means: go on.
func (s *scan) quoted(c byte) verdict {
	switch c {
	case '"':
		s.state, s.spaces = afterQuote, s.pos
	case '\r', '\n':
		if s.oneLine {
			return unclosed
		}
		if c == '\r' || !s.wasCR {
			s.rec.lines++
		}
	}
	s.wasCR = c == '\r'
	s.pos++
	return complete
}

// closing handles a byte behind a quote that may have closed the cell.
func (s *scan) closing(c byte) (v verdict, ended bool) {
	switch {
	case s.state == afterQuote && c == '"':
		s.cell.escaped = true
		s.state = inQuotes
		s.pos++
	case c == ' ' && s.delim != ' ':
		s.state = afterCell
		s.pos++
	case c == s.delim || c == '\r' || c == '\n':
		return complete, s.endsCell(c, s.spaces)
	case s.oneLine:
		s.state = inQuotes
	default:
		return misquoted, true
	}
	return complete, false
}

// endsCell ends the cell at to when c is a delimiter or a line end, and
// advances. It reports whether the record is complete.
func (s *scan) endsCell(c byte, to int) bool {
	s.pos++
	switch c {
	case s.delim:
		s.endCell(to)
	case '\n':
		s.endCell(to)
		s.done()
		return true
	case '\r':
		s.endCell(to)
		s.state = afterCR
	}
	return false
}

func (s *scan) endCell(to int) {
	s.cell.to = to
	s.rec.cells = append(s.rec.cells, s.cell)
	s.cell = span{from: s.pos}
	s.state = atCellStart
}

func (s *scan) done() verdict {
	s.rec.size = s.pos
	s.rec.lines++
	return complete
}

// atEOF ends the last record, which has no line end.
func (s *scan) atEOF() verdict {
	switch s.state {
	case inQuotes:
		return unclosed
	case afterQuote, afterCell:
		s.endCell(s.spaces)
	case atCellStart, inPlain:
		s.endCell(s.pos)
	case afterCR:
	}
	return s.done()
}
