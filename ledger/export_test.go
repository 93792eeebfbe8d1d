package ledger

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
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

// AllText is all that is in the database, of every table and column.
func AllText(t *testing.T, l *Ledger) string {
	t.Helper()
	tables := "SELECT name FROM sqlite_schema WHERE type = 'table'"
	if l.dialect == onPostgres {
		tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
	}
	names, err := readAll(t.Context(), l.reader(), scanOne[string], tables)
	if err != nil || len(names) < 8 {
		t.Fatalf("%d tables: %v", len(names), err)
	}
	var text strings.Builder
	for _, name := range names {
		rows, err := readAll(t.Context(), l.reader(), func(r *sql.Rows) (string, error) {
			columns, err := r.Columns()
			if err != nil {
				return "", err
			}
			values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
			for i := range values {
				targets[i] = &values[i]
			}
			err = r.Scan(targets...)
			return fmt.Sprint(values), err
		}, "SELECT * FROM "+name)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(name + ":\n" + strings.Join(rows, "\n") + "\n")
	}
	return text.String()
}

// ErrAway is an error that means that the database is away.
var ErrAway = errTimeout

// Change runs a statement past the ledger.
func Change(t *testing.T, l *Ledger, statement string) {
	t.Helper()
	if _, err := l.writer.db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// Hash is the ledger's keyed hash of a text.
func Hash(l *Ledger, text string) string { return l.persons.hash(text) }

// indexedQueries are those about people and about age, and those that are read in pages.
func indexedQueries() []string {
	all := []string{
		recordsOfPersons, aliases, mentionedAliases, personsOfLead, otherLeadsOfPersons, leadsToRedact, clearProgress, selectSuppressed,
		oldOutcomes, oldTrails, deleteOldEvents,
		lockLeads, readScores, readAccepted, recordByID, recordsByKey, reopenLeads, markEnqueued, unsettledRuns, selectSpent, anyLive,
		unkeyedRows[0].page, unkeyedRows[1].page, unkeyedRows[2].page,
		"SELECT o.lead_id" + outcomesAfter + " ORDER BY o.first_settled_at, o.lead_id LIMIT 1",
	}
	for _, r := range removals {
		all = append(all, r.query)
	}
	return all
}

// IndexedPlans are SQLite's plans for the queries that must not read a whole table.
func IndexedPlans(t *testing.T, l *Ledger) map[string]string {
	plans := map[string]string{}
	for _, query := range indexedQueries() {
		plans[query] = explain(t, l, query, "[]", 0, 1, 1)
	}
	return plans
}

// SweepPlan is SQLite's plan for a page of a sweep.
func SweepPlan(t *testing.T, l *Ledger, query string) string {
	return explain(t, l, query, "", 0, 1)
}

func explain(t *testing.T, l *Ledger, query string, args ...any) string {
	t.Helper()
	lines, err := readAll(t.Context(), l.reader(), func(r *sql.Rows) (line string, err error) {
		var id, parent, unused int
		return line, r.Scan(&id, &parent, &unused, &line)
	}, "EXPLAIN QUERY PLAN "+query, args[:strings.Count(parameters(query), "$")]...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// parameters are the different parameters of a query.
func parameters(query string) (all string) {
	for _, p := range []string{"$1", "$2", "$3", "$4"} {
		if strings.Contains(query, p) {
			all += p
		}
	}
	return all
}

// MigrateDown takes a closed ledger back to an earlier schema.
func MigrateDown(t *testing.T, url string, version int64) {
	t.Helper()
	d, err := dialectOf(url)
	if err != nil {
		t.Fatal(err)
	}
	write, read, err := d.open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(write.Close(), read.Close()); err != nil {
			t.Error(err)
		}
	}()
	dir, err := fs.Sub(migrations, "migrations/"+d.name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(d.goose, write, dir, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.DownTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
}
