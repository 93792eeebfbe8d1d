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

// The queries of the two sweeps.
const (
	LiveQuery     = liveRecords
	UnqueuedQuery = unqueuedRecords
)

// SweepPlan is SQLite's plan for a page of a sweep.
func SweepPlan(t *testing.T, l *Ledger, query string) string {
	t.Helper()
	lines, err := readAll(t.Context(), l.reader(), func(r *sql.Rows) (line string, err error) {
		var id, parent, unused int
		return line, r.Scan(&id, &parent, &unused, &line)
	}, "EXPLAIN QUERY PLAN "+query, "", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
