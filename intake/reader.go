package intake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"unicode"

	"backstop/lead"
)

// Options say how a file is to be read. The zero value finds everything out.
type Options struct {
	// Source is what the leads' source is called. By default it is the file's
	// base name (that of the original for a rejects file), "stdin" for "-".
	Source string
	// Map names the column of a field: {"email": "Kunde (Mail)"}. Fields are the
	// JSON names of a [lead.Lead]; "skip" names a column that marks rows to be
	// skipped. A header that occurs twice is told apart as "Email#2". An empty
	// header means that the field is not to be read.
	Map map[string]string
	// Format is the file's; "" finds it out.
	Format Format
}

// A Row is what a row of a file came to: a lead, or the reason why it is skipped, or
// what is wrong with it.
type Row struct {
	Line   int       // the line on which the row begins, 1-based, counting the header
	Lead   lead.Lead // normalised; empty for a reject
	Skip   string    // why the row is skipped although it is fine
	Reject *Reject
}

// The reasons for skipping a row.
const (
	SkipEmpty        = "empty row"
	SkipDeleted      = "deleted in the source"
	SkipUnsubscribed = "unsubscribed"
	SkipMarked       = "marked to be skipped"
)

// A Reject says what is wrong with a row and what to do. Reason and cure do not
// quote the row; Raw does.
type Reject struct {
	Line   int
	Field  string // as in a lead's JSON; "" when it is the row as a whole
	Reason string
	Cure   string
	Raw    []string // the row's cells as read, cut to a bound
}

// The bounds of a Reject's Raw.
const (
	maxRawCells = 2000
	maxRawBytes = 64 << 10
)

// A Column says what a header was taken for.
type Column struct {
	Index  int // 1 for the first
	Header string
	Field  string // the field it gives; "" when it is ignored
}

func (c Column) String() string {
	if c.Field == "" {
		return c.Header + " -> ignored"
	}
	return c.Header + " -> " + c.Field
}

// source is a format's way of giving rows.
type source interface {
	// next returns the next row, io.EOF at the end, or why there is none.
	next() (item, error)
	columns() []Column
	// headers are those under which a reject's cells are written.
	headers() []string
}

// item is one row before anything is made of it.
type item struct {
	line   int
	values values
	empty  bool
	reject *Reject         // what is wrong with it already
	raw    func() []string // its cells, valid until the next row
}

// A Reader gives the rows of one file, once.
type Reader struct {
	name   string
	origin string
	text   *text
	rows   source
}

// Read begins to read a file. The name is for messages, for the default source
// and for telling the format; "-" is standard input. What is wrong with the
// header is an error that names the file, the line and the cure.
func Read(r io.Reader, name string, o Options) (*Reader, error) {
	return open(r, name, o, leadSchema)
}

func open(r io.Reader, name string, o Options, s *schema) (*Reader, error) {
	shown := name
	if name == "-" {
		shown = "standard input"
	}
	rd, err := newReader(r, name, o, s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	rd.name = shown
	return rd, nil
}

func newReader(r io.Reader, name string, o Options, s *schema) (*Reader, error) {
	m, err := s.withMap(o.Map)
	if err != nil {
		return nil, err
	}
	rd := &Reader{origin: o.Source}
	if rd.origin == "" {
		rd.origin = sourceOf(name)
	}
	if len(rd.origin) > lead.MaxFieldLength {
		return nil, fmt.Errorf("the source's name is longer than %d bytes: shorten it", lead.MaxFieldLength)
	}
	if rd.text, err = newText(r); err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	w := newWindow(rd.text)
	if _, err := w.grow(); err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if o.Format == "" {
		o.Format = FormatOf(name, w.bytes())
	}
	switch o.Format {
	case FormatJSONL:
		rd.rows, err = newJSONSource(w, m)
	case FormatCSV:
		rd.rows, err = newCSVSource(w, m)
	default:
		_, err = ParseFormat(string(o.Format))
	}
	if err != nil {
		return nil, err
	}
	return rd, nil
}

// rejectsSuffix is appended to a file's name for that of its rejects.
const rejectsSuffix = ".rejected.csv"

// RejectsName is where the rejects of a file belong.
func RejectsName(name string) string { return name + rejectsSuffix }

// sourceOf is the default source. Corrected rejects belong to the source that
// they come from, so that a lead has one ID whichever file it is read from.
func sourceOf(name string) string {
	if name == "-" {
		return "stdin"
	}
	base := filepath.Base(name)
	for strings.HasSuffix(base, rejectsSuffix) && base != rejectsSuffix {
		base = strings.TrimSuffix(base, rejectsSuffix)
	}
	return base
}

// Columns says what each header was taken for. JSON has no header: nil.
func (r *Reader) Columns() []Column { return r.rows.columns() }

// Encoding is what the text read so far was found to be, such as "utf-8",
// "utf-16le" or "windows-1252".
func (r *Reader) Encoding() string { return r.text.encoding() }

// BytesRead is how much of the file has been read.
func (r *Reader) BytesRead() int64 { return r.text.counts.n }

// Rows gives the rows in order. A row that is broken comes as a reject. An error
// is the last thing given: the stream cannot go on, or ctx has ended.
func (r *Reader) Rows(ctx context.Context) iter.Seq2[Row, error] { return rows(ctx, r, r.row) }

// rows gives what of makes of each row.
func rows[T any](ctx context.Context, r *Reader, of func(item) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			var none T
			if err := ctx.Err(); err != nil {
				yield(none, fmt.Errorf("%s: %w", r.name, err))
				return
			}
			it, err := r.rows.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(none, fmt.Errorf("%s: read: %w", r.name, err))
				return
			}
			if !yield(of(it), nil) {
				return
			}
		}
	}
}

func (r *Reader) row(it item) Row {
	row := Row{Line: it.line, Skip: it.skip(), Reject: it.reject}
	if row.Reject != nil || row.Skip != "" {
		return row
	}
	l, err := lead.Normalize(it.values.lead(r.origin))
	if err != nil {
		row.Reject = it.refuse(err)
		return row
	}
	row.Lead = l
	return row
}

// refuse makes a reject of what is wrong with the row's values.
func (it *item) refuse(err error) *Reject {
	rej := &Reject{Line: it.line, Reason: "cannot be used", Cure: "correct the row", Raw: cut(it.raw())}
	var fe *lead.FieldError
	if errors.As(err, &fe) {
		rej.Field, rej.Reason, rej.Cure = fe.Field, fe.Reason, fe.Cure
	}
	return rej
}

// cut keeps a reject's cells within bounds.
func cut(cells []string) []string {
	left := maxRawBytes
	out := make([]string, 0, min(len(cells), maxRawCells))
	for _, c := range cells[:min(len(cells), maxRawCells)] {
		if len(c) > left {
			c = strings.ToValidUTF8(c[:left], "")
		}
		left -= len(c)
		out = append(out, strings.Clone(c))
	}
	return out
}

// isBlank reports whether a cell shows nothing: spaces, NULs, a stray byte order
// mark, the ^Z with which old programs end a file.
func isBlank(s string) bool {
	for _, r := range s {
		if !unicode.IsSpace(r) && !unicode.IsControl(r) && r != '\ufeff' {
			return false
		}
	}
	return true
}
