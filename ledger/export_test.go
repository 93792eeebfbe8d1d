package ledger

import (
	"database/sql"
	"strings"
	"testing"
)

// WriterPragma is a pragma of the connection that writes.
func WriterPragma(t *testing.T, l *Ledger, pragma string) (value string) {
	t.Helper()
	if err := l.writer.db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// LivePlan is SQLite's plan for a page of live leads.
func LivePlan(t *testing.T, l *Ledger) string {
	t.Helper()
	lines, err := readAll(t.Context(), l.reader(), func(r *sql.Rows) (line string, err error) {
		var id, parent, unused int
		return line, r.Scan(&id, &parent, &unused, &line)
	}, "EXPLAIN QUERY PLAN "+liveRecords, "", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
