package chaos

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"backstop/testkit/fleet"
)

func TestAPostgresThatIsRestartedOrKilledLosesNothing(t *testing.T) {
	play(t, scenario{
		Name: "PostgreSQL restart and kill -9 in mid-run", Seed: 70, Faults: size(21, 3),
		Leads: size(2000, 400), Replicas: 2, Ledger: fleet.Postgres, Script: slow,
		Inject: func(r *run) {
			kinds := []func(){r.postgres.Shutdown, r.postgres.Kill, nil}
			r.each(2, 500*time.Millisecond, 2*time.Second, func() {
				end := kinds[r.faults%len(kinds)]
				if end == nil {
					r.postgres.KillBackend()
					return
				}
				end()
				r.pause(0, 3*time.Second)
				r.postgres.Start()
			})
		},
	})
}

func TestALockedSQLiteLosesNothing(t *testing.T) {
	play(t, scenario{
		Name: "SQLite locked for 10 s", Seed: 71, Faults: size(5, 1), Leads: size(1500, 300), Replicas: 2, Script: slow,
		Inject: func(r *run) {
			r.each(2, 500*time.Millisecond, 3*time.Second, func() {
				unlock := r.lockSQLite()
				defer unlock()
				r.wait(10 * time.Second)
			})
		},
	})
}

// lockSQLite takes the ledger's write lock, as a backup tool or a hung process does.
func (r *run) lockSQLite() (unlock func()) {
	r.t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(r.Ledger, "sqlite://")+"?_pragma=busy_timeout(30000)")
	if err != nil {
		r.t.Fatal(err)
	}
	conn, err := db.Conn(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	exec := func(statement string) {
		r.t.Helper()
		if _, err := conn.ExecContext(context.WithoutCancel(r.t.Context()), statement); err != nil {
			r.t.Fatalf("%s: %v", statement, err)
		}
	}
	exec("BEGIN IMMEDIATE")
	return func() {
		exec("ROLLBACK")
		if err := conn.Close(); err != nil {
			r.t.Error(err)
		}
		if err := db.Close(); err != nil {
			r.t.Error(err)
		}
	}
}
