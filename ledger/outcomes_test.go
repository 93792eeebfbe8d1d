package ledger_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"backstop/lead"
	"backstop/ledger"
)

// TestAnExportHoldsNoTransactionOpenWhileItsReaderPauses looks past the ledger at the
// database in the middle of an export.
func TestAnExportHoldsNoTransactionOpenWhileItsReaderPauses(t *testing.T) {
	for name, newURL := range databases {
		t.Run(name, func(t *testing.T) {
			url := newURL(t)
			l := open(t, url, ledger.Options{})
			accepted, err := l.Accept(t.Context(), []lead.Lead{numbered(1), numbered(2)})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range accepted {
				if _, err := l.Settle(t.Context(), settled(a.LeadID)); err != nil {
					t.Fatal(err)
				}
			}
			query := "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'"
			driver, source := "pgx", url
			if path, ok := strings.CutPrefix(url, "sqlite://"); ok {
				driver, source, query = "sqlite", "file:"+path, "PRAGMA wal_checkpoint(TRUNCATE)" // its first column: somebody was in the way
			}
			witness, err := sql.Open(driver, source)
			if err != nil {
				t.Fatal(err)
			}
			defer witness.Close()
			for _, err := range l.Outcomes(t.Context(), ledger.Filter{}) {
				if err != nil {
					t.Fatal(err)
				}
				var held int
				var ignored any
				targets := []any{&held, &ignored, &ignored}
				if driver == "pgx" {
					targets = targets[:1]
				}
				if err := witness.QueryRow(query).Scan(targets...); err != nil || held != 0 {
					t.Errorf("%d transactions are open (%v)", held, err)
				}
			}
		})
	}
}

func TestWhileAwayRepeatsOnlyWhatMaySucceedLater(t *testing.T) {
	away, lasting := ledger.ErrAway, ledger.ErrNotFound
	for _, test := range []struct {
		name   string
		errs   []error // of the calls
		limit  time.Duration
		want   error
		waited time.Duration
	}{
		{"a call that succeeds is the only one", []error{nil}, time.Hour, nil, 0},
		{"an error that would come again is returned", []error{lasting, nil}, time.Hour, lasting, 0},
		{"the pauses double up to two seconds", []error{away, away, away, away, away, away, away, nil}, time.Hour, nil, 7100 * time.Millisecond},
		{"it ends with the context, and says what the ledger said", []error{away, away, away, away}, 500 * time.Millisecond, away, 500 * time.Millisecond},
		{"an error of another kind ends it", []error{away, lasting}, time.Hour, lasting, 100 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.limit)
				defer cancel()
				began, calls := time.Now(), 0
				err := ledger.WhileAway(ctx, func(context.Context) error { calls++; return test.errs[calls-1] })
				if waited := time.Since(began); err != test.want || waited != test.waited {
					t.Errorf("got %v after %v and %d calls, want %v after %v", err, waited, calls, test.want, test.waited)
				}
			})
		})
	}
}
