package intake

import (
	"bytes"
	"errors"
	"io"
	"regexp"
)

// jsonHeader is the column under which a rejects file holds a rejected object.
const jsonHeader = "json"

// jsonSource gives the rows of a file of JSON objects: one a line, or the
// elements of one array.
type jsonSource struct {
	w     *window
	sch   *schema
	array bool // inside [ ]
}

func newJSONSource(w *window, sch *schema) (source, error) {
	j := &jsonSource{w: w, sch: sch}
	if err := j.skip(bom); err != nil {
		return nil, err
	}
	c, err := j.peekByte()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty: it needs a JSON object on each line, or an array of objects")
	case err != nil:
		return nil, err
	}
	if c == '[' {
		j.array = true
		w.take(1, 0)
	}
	return j, nil
}

func (j *jsonSource) columns() []Column { return nil }
func (j *jsonSource) headers() []string { return []string{jsonHeader} }

func (j *jsonSource) next() (item, error) {
	if j.array {
		return j.nextElement()
	}
	return j.nextLine()
}

// skip consumes prefix if the window begins with it.
func (j *jsonSource) skip(prefix []byte) error {
	for len(j.w.bytes()) < len(prefix) {
		if grew, err := j.w.grow(); !grew {
			return err
		}
	}
	if bytes.HasPrefix(j.w.bytes(), prefix) {
		j.w.take(len(prefix), 0)
	}
	return nil
}

// peekByte looks at the next byte that is not white space, consuming what is
// before it.
func (j *jsonSource) peekByte() (byte, error) {
	for {
		b := j.w.bytes()
		n, lines := 0, 0
		for n < len(b) && bytes.IndexByte([]byte(" \t\r\n\x00\x1a"), b[n]) >= 0 {
			if b[n] == '\n' {
				lines++
			}
			n++
		}
		more := n < len(b)
		var c byte
		if more {
			c = b[n]
		}
		j.w.take(n, lines)
		if more {
			return c, nil
		}
		if grew, err := j.w.grow(); err != nil {
			return 0, err
		} else if !grew && j.w.eof {
			return 0, io.EOF
		}
	}
}

// nextLine gives the object on the next line that is not blank.
func (j *jsonSource) nextLine() (item, error) {
	for {
		line, size, whole, err := j.w.peekLine()
		if err != nil {
			return item{}, err
		}
		if size == 0 {
			return item{}, io.EOF
		}
		if whole && isBlank(string(line)) {
			j.w.take(size, 1)
			continue
		}
		if !whole {
			return j.refuseLine(line, tooLong, "split it, or look for a missing line end")
		}
		it := j.item(bytes.TrimPrefix(line, bom))
		j.w.take(size, 1)
		return it, nil
	}
}

// item makes a row of one JSON value.
func (j *jsonSource) item(b []byte) item {
	text := string(b)
	it := item{line: j.w.line, raw: func() []string { return []string{text} }}
	it.values, it.empty, it.reject = decodeObject(b, j.sch)
	if it.reject != nil {
		it.reject.Line, it.reject.Raw = it.line, cut(it.raw())
	}
	return it
}

// refuseLine consumes the next line, however long, and rejects it.
func (j *jsonSource) refuseLine(line []byte, reason, cure string) (item, error) {
	at := j.w.line
	raw := cut([]string{string(line)})
	if err := j.w.skipLine(); err != nil {
		return item{}, err
	}
	return item{line: at, reject: &Reject{Line: at, Reason: reason, Cure: cure, Raw: raw}}, nil
}

// nextElement gives the next element of the array.
func (j *jsonSource) nextElement() (item, error) {
	for {
		c, err := j.peekByte()
		at := j.w.line
		switch {
		case errors.Is(err, io.EOF):
			j.array = false // once: the next look finds the end
			return item{line: at, reject: &Reject{
				Line: at, Reason: "the array is not closed: the file is cut off", Cure: "get the file again and import it again",
			}}, nil
		case err != nil:
			return item{}, err
		case c == ',' || c == '}': // a brace is left over from a broken element
			j.w.take(1, 0)
			continue
		case c == ']':
			j.w.take(1, 0)
			j.array = false
			return j.afterArray()
		}
		return j.element()
	}
}

// afterArray goes on with another array or with lines, if there are any.
func (j *jsonSource) afterArray() (item, error) {
	c, err := j.peekByte()
	if err != nil {
		return item{}, err
	}
	switch c {
	case '[':
		j.w.take(1, 0)
		j.array = true
	case ',', '}': // the bracket belonged to a broken element
		j.array = true
	}
	return j.next()
}

// element reads the value at the window's beginning.
func (j *jsonSource) element() (item, error) {
	var sc valueScan
	for {
		v := sc.run(j.w.bytes())
		if v == complete {
			it := j.item(bytes.TrimSpace(j.w.bytes()[:sc.pos]))
			j.w.take(sc.pos, sc.lines)
			return it, nil
		}
		if v == unclosed {
			return j.refuseElement("has a text that is not closed", "close the quote")
		}
		grew, err := j.w.grow()
		switch {
		case err != nil:
			return item{}, err
		case !grew && !j.w.eof:
			return j.refuseElement(tooLong, "shorten it, or look for a missing brace or quote")
		case !grew:
			return j.refuseElement("is not closed", "look for a missing brace or quote, or get the file again")
		}
	}
}

// nextObject is where, behind a broken element, the next one or the end of the
// array is: between objects, or at a bracket on a line of its own.
var nextObject = regexp.MustCompile(`\}\s*,\s*(\{)|\n\s*(\])\s*(?:\n|$)`)

// refuseElement rejects the broken element at the window's beginning and
// consumes it, up to where the next one begins.
func (j *jsonSource) refuseElement(reason, cure string) (item, error) {
	at := j.w.line
	it := item{line: at, reject: &Reject{
		Line: at, Reason: reason, Cure: cure, Raw: cut([]string{string(j.w.bytes()[:min(1000, len(j.w.bytes()))])}),
	}}
	for {
		b := j.w.bytes()
		if m := nextObject.FindSubmatchIndex(b); m != nil {
			n := max(m[2], m[4]) // the group that did not match is -1
			j.w.take(n, bytes.Count(b[:n], []byte("\n")))
			return it, nil
		}
		if n := len(b) - 100; n > 0 { // what is kept may be the first half of a match
			j.w.take(n, bytes.Count(b[:n], []byte("\n")))
		}
		grew, err := j.w.grow()
		if err != nil {
			return it, nil // the row comes first; the window gives the error again
		}
		if !grew && j.w.eof {
			b = j.w.bytes()
			j.w.take(len(b), bytes.Count(b, []byte("\n")))
			return it, nil
		}
	}
}

// valueScan finds the end of a JSON value: of an object or array by its
// brackets, of anything else by the comma or bracket behind it.
type valueScan struct {
	pos, depth, lines int
	inText, escaped   bool
}

func (s *valueScan) run(b []byte) verdict {
	for ; s.pos < len(b); s.pos++ {
		c := b[s.pos]
		if c == '\n' {
			s.lines++
		}
		switch {
		case s.inText && (c == '\n' || c == '\r'):
			return unclosed
		case s.escaped:
			s.escaped = false
		case s.inText && c == '\\':
			s.escaped = true
		case c == '"':
			s.inText = !s.inText
		case s.inText:
		case c == '{' || c == '[':
			s.depth++
		case (c == '}' || c == ']') && s.depth > 0:
			if s.depth--; s.depth == 0 {
				s.pos++
				return complete
			}
		case s.depth == 0 && (c == ',' || c == ']' && s.pos > 0):
			return complete
		}
	}
	return incomplete
}

// jsonInCSV reads the rejects of a JSON file, a CSV with an object in its last
// column.
type jsonInCSV struct {
	*csvSource
	sch *schema
}

func (j *jsonInCSV) next() (item, error) {
	it, err := j.csvSource.next()
	if err != nil || it.reject != nil || it.empty {
		return it, err
	}
	raw := it.raw()
	it.raw = func() []string { return raw }
	it.values, it.empty, it.reject = decodeObject([]byte(raw[0]), j.sch)
	if it.reject != nil {
		it.reject.Line, it.reject.Raw = it.line, cut(raw)
	}
	return it, nil
}
