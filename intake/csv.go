package intake

import (
	"fmt"
	"io"
	"strings"
)

// csvSource gives the rows of a CSV file.
type csvSource struct {
	s        splitter
	l        *layout
	lastSeen int // how many cells the last good row had
}

func newCSVSource(w *window, sch *schema) (source, error) {
	c := &csvSource{s: splitter{w: w}}
	c.s.table = c
	if err := c.readSep(); err != nil {
		return nil, err
	}
	if err := c.readHeader(sch); err != nil {
		return nil, err
	}
	if len(c.l.headers) == len(rejectHeaders)+1 && c.l.headers[c.l.first] == jsonHeader {
		return &jsonInCSV{c, sch}, nil
	}
	return c, nil
}

func (c *csvSource) columns() []Column { return c.l.columns() }
func (c *csvSource) headers() []string { return c.l.headers[c.l.first:] }

// fits is part of table.
func (c *csvSource) fits(rec *record) bool {
	n := len(c.l.headers)
	switch got := len(rec.cells); {
	case got == n, got > 1 && got == c.lastSeen:
		return true
	case got > n:
		return c.extrasBlank(rec)
	default:
		return c.hasAddress(rec)
	}
}

// width is part of table.
func (c *csvSource) width() int {
	return len(c.l.headers)
}

// anchored is part of table. With fewer than three columns a
// line of a long note looks too much like a row.
func (c *csvSource) anchored(rec *record) bool {
	return len(rec.cells) == len(c.l.headers) && len(rec.cells) > 2 && c.hasAddress(rec)
}

func (c *csvSource) hasAddress(rec *record) bool {
	for _, i := range c.l.by[tEmail] {
		if isAddress(rec.cell(i)) {
			return true
		}
	}
	return false
}

func (c *csvSource) extrasBlank(rec *record) bool {
	for i := len(c.l.headers); i < len(rec.cells); i++ {
		if !isBlank(rec.cell(i)) {
			return false
		}
	}
	return true
}

func (c *csvSource) next() (item, error) {
	for {
		rec, f, line, ok, err := c.s.next()
		switch {
		case err != nil:
			return item{}, err
		case !ok:
			return item{}, io.EOF
		case f != nil:
			raw := f.raw[min(c.l.first, len(f.raw)):]
			return item{line: line, reject: &Reject{Line: line, Reason: f.reason, Cure: f.cure, Raw: cut(raw)}}, nil
		case rec.isBlankLine():
			continue
		}
		return c.item(&rec, line), nil
	}
}

func (c *csvSource) item(rec *record, line int) item {
	it := item{line: line, empty: true, raw: func() []string {
		cells := rec.strings()
		return cells[min(c.l.first, len(cells)):]
	}}
	for i := c.l.first; i < len(rec.cells) && it.empty; i++ {
		it.empty = isBlank(rec.cell(i))
	}
	if it.empty {
		return it
	}
	if n := len(c.l.headers); len(rec.cells) > n && !c.extrasBlank(rec) {
		it.reject = &Reject{
			Line: line, Reason: fmt.Sprintf("has %d cells where the header has %d", len(rec.cells), n),
			Cure: "put quotes around a cell that holds the delimiter", Raw: cut(it.raw()),
		}
		return it
	}
	for _, tw := range c.l.twins {
		a, b := strings.TrimSpace(rec.cell(tw.a)), strings.TrimSpace(rec.cell(tw.b))
		if !isBlank(a) && !isBlank(b) && !strings.EqualFold(a, b) {
			it.reject = &Reject{
				Line: line, Field: names[tw.target], Reason: "differs between two columns of the same name",
				Cure: fmt.Sprintf("say which one counts: --map %s=%q", names[tw.target], c.l.headers[tw.a]+"#1"), Raw: cut(it.raw()),
			}
			return it
		}
	}
	c.lastSeen = len(rec.cells)
	for t := range numTargets {
		if len(c.l.by[t]) > 0 {
			it.values[t] = c.l.pick(t, rec)
		}
	}
	return it
}
