package app

import "github.com/jedib0t/go-pretty/v6/table"

// Table begins a table for people.
func Table(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	if len(header) > 0 {
		t.AppendHeader(header)
	}
	return t
}
