package chaos

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"backstop/testkit"
	"backstop/testkit/fleet"
)

// A worker that is stopped and woken believes that it still has its leads. One that
// was stopped in the middle of a commit holds the ledger's locks meanwhile: all of
// SQLite's, or those of some rows of PostgreSQL.
func TestAStoppedWorkerThatWakesSpoilsNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ledger      string
		full, short time.Duration // the short one is long enough for the rescue
	}{
		{fleet.SQLite, 45 * time.Second, 18 * time.Second},
		{fleet.SQLite, 75 * time.Second, 18 * time.Second},
		{fleet.Postgres, 45 * time.Second, 18 * time.Second},
		{fleet.Postgres, 75 * time.Second, 30 * time.Second},
	}
	for i, tt := range tests {
		d := time.Duration(size(int(tt.full), int(tt.short)))
		t.Run(fmt.Sprintf("after %s on %s", tt.full, tt.ledger), func(t *testing.T) {
			play(t, scenario{
				Name: fmt.Sprintf("SIGSTOP of a worker for %s, then SIGCONT, on %s", d, tt.ledger), Seed: 60 + uint64(i),
				Faults: size(5, 1), Leads: size(2800, 700), Replicas: size(5, 1) + 1, Script: slow, Ledger: tt.ledger,
				Inject: func(r *run) { r.stopAndWake(r.All()[:r.spec.Faults], d) },
			})
		})
	}
}

// stopAndWake stops the workers one after the other, each for d; their absences
// overlap.
func (r *run) stopAndWake(workers []*testkit.Process, d time.Duration) {
	r.t.Helper()
	began := make([]time.Time, len(workers))
	for i, w := range workers {
		r.pause(500*time.Millisecond, 1500*time.Millisecond)
		before := r.settled()
		w.Signal(syscall.SIGSTOP)
		began[i] = time.Now()
		r.struck(1, before)
	}
	for i, w := range workers {
		r.wait(time.Until(began[i].Add(d)))
		w.Signal(syscall.SIGCONT)
	}
	r.wait(3 * time.Second) // what a woken worker does wrong it does at once
}
