package intake

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// RejectHeaders are the headers of the cells in a reject's Raw.
func (r *Reader) RejectHeaders() []string { return r.rows.headers() }

// RejectWriter writes rejects as CSV: line, field, reason and cure before the
// row's own cells under their own headers, so that the file can be corrected and
// read in again. Nothing is written before the first reject.
type RejectWriter struct {
	open    func() (io.Writer, error)
	headers []string
	w       *csv.Writer
}

// NewRejectWriter writes to what open gives at the first reject. Closing it is
// the caller's.
func NewRejectWriter(open func() (io.Writer, error), headers []string) *RejectWriter {
	return &RejectWriter{open: open, headers: headers}
}

// Write adds a reject. It reaches the file by [RejectWriter.Flush] at the latest.
func (w *RejectWriter) Write(r *Reject) error {
	if w.w == nil {
		out, err := w.open()
		if err != nil {
			return fmt.Errorf("open the file for rejects: %w", err)
		}
		w.w = csv.NewWriter(out)
		if err := w.w.Write(slices.Concat(rejectHeaders, w.headers)); err != nil {
			return fmt.Errorf("write rejects: %w", err)
		}
	}
	row := []string{strconv.Itoa(r.Line), r.Field, r.Reason, r.Cure}
	for _, c := range r.Raw {
		row = append(row, Inert(c))
	}
	if err := w.w.Write(row); err != nil {
		return fmt.Errorf("write rejects: %w", err)
	}
	return nil
}

// Flush brings what was written to the file.
func (w *RejectWriter) Flush() error {
	if w.w == nil {
		return nil
	}
	if w.w.Flush(); w.w.Error() != nil {
		return fmt.Errorf("write rejects: %w", w.w.Error())
	}
	return nil
}

// Inert keeps a spreadsheet from running a cell as a formula, by an apostrophe in
// front ([CSV injection]). Telephone numbers begin with a sign, too, and stay as
// they are. Reading takes the apostrophe off again.
//
// [CSV injection]: https://owasp.org/www-community/attacks/CSV_Injection
func Inert(c string) string {
	if c == "" || strings.IndexByte("=+-@\t\r", c[0]) < 0 {
		return c
	}
	if (c[0] == '+' || c[0] == '-') && strings.Trim(c[1:], "0123456789 ()./-,") == "" {
		return c
	}
	return "'" + c
}
