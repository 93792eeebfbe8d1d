package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"backstop/app"
	"backstop/intake"
	"backstop/lead"
)

// An outcomeWriter writes outcomes in one format.
type outcomeWriter interface {
	write(lead.Outcome) error
	end() error
}

func newOutcomeWriter(format string, w io.Writer) (outcomeWriter, error) {
	switch format {
	case "jsonl":
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return jsonlWriter{enc}, nil
	case "csv":
		return newCSVWriter(w), nil
	case "table":
		return newTableWriter(w), nil
	}
	return nil, fmt.Errorf("--format %q: use csv, jsonl or table", format)
}

type jsonlWriter struct{ enc *json.Encoder }

func (j jsonlWriter) write(o lead.Outcome) error { return j.enc.Encode(o) }
func (j jsonlWriter) end() error                 { return nil }

// A csvWriter has a column for each profile field. The trail is its summary.
type csvWriter struct{ w *csv.Writer }

// newCSVWriter begins with the header, so that a reader of an empty export sees that it
// is complete. What it writes is buffered; errors come from end.
func newCSVWriter(w io.Writer) csvWriter {
	row := []string{"lead_id", "request_id", "source", "source_id", "status", "reason"}
	for _, f := range lead.Fields {
		row = append(row, string(f))
	}
	c := csvWriter{csv.NewWriter(w)}
	_ = c.w.Write(append(row, "missing", "calls", "credits", "trail", "accepted_at", "started_at", "settled_at")) // buffered
	return c
}

func (c csvWriter) write(o lead.Outcome) error {
	row := []string{o.LeadID, o.RequestID, o.Source, o.SourceID, string(o.Status), o.Reason}
	for _, f := range lead.Fields {
		row = append(row, o.Profile[f])
	}
	missing := make([]string, len(o.Missing))
	for i, f := range o.Missing {
		missing[i] = string(f)
	}
	row = append(row, strings.Join(missing, " "), strconv.Itoa(len(o.Trail)), creditsText(o.Credits), lead.Summary(o.Trail),
		o.AcceptedAt.String(), o.StartedAt.String(), o.SettledAt.String())
	for i := range row {
		row[i] = intake.Inert(row[i])
	}
	return c.w.Write(row)
}

// creditsText is what a lead cost, for people: "clearbit 1, hunter 0.5".
func creditsText(credits map[string]float64) string {
	parts := make([]string, 0, len(credits))
	for _, name := range slices.Sorted(maps.Keys(credits)) {
		parts = append(parts, name+" "+amount(credits[name]))
	}
	return strings.Join(parts, ", ")
}

func (c csvWriter) end() error {
	c.w.Flush()
	return c.w.Error()
}

// tablePage is how many outcomes one table has: its columns are as wide as their
// widest cell, so that all its rows are in memory at once.
const tablePage = 500

// A tableWriter is for people: the fields that matter at a glance. A long export is
// several tables.
type tableWriter struct {
	w io.Writer
	t table.Writer
	n int // rows so far, of all tables
}

func newTableWriter(w io.Writer) *tableWriter {
	t := app.Table("lead", "status", "name", "title", "company", "domain", "calls", "reason")
	t.SetColumnConfigs([]table.ColumnConfig{{Name: "reason", WidthMax: 60}, {Name: "title", WidthMax: 30}, {Name: "company", WidthMax: 30}})
	return &tableWriter{w: w, t: t}
}

func (t *tableWriter) write(o lead.Outcome) error {
	t.n++
	p := o.Profile
	t.t.AppendRow(table.Row{o.LeadID, o.Status, p[lead.PersonName], p[lead.PersonTitle], p[lead.CompanyName], p[lead.CompanyDomain], len(o.Trail), o.Reason})
	if t.n%tablePage == 0 {
		return t.page()
	}
	return nil
}

// page writes the rows that are there as a table.
func (t *tableWriter) page() error {
	_, err := fmt.Fprintln(t.w, t.t.Render())
	t.t.ResetRows()
	return err
}

func (t *tableWriter) end() error {
	switch {
	case t.n == 0:
		_, err := fmt.Fprintln(t.w, "no settled lead matches")
		return err
	case t.n%tablePage > 0:
		return t.page()
	}
	return nil
}
