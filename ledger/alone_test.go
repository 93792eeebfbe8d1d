package ledger

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"backstop/lead"
	"backstop/testkit"
)

// TestForgetWaitsForWritesThatAreUnderWay takes in a lead with the write of another
// process that has not been committed when the person is forgotten, and cannot be
// seen then.
func TestForgetWaitsForWritesThatAreUnderWay(t *testing.T) {
	url := testkit.Postgres(t)
	var handles []*Ledger
	for range 2 {
		l, err := Open(t.Context(), url, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
		handles = append(handles, l)
	}
	rows, _, err := handles[0].newLeads([]lead.Lead{{Email: "jane.doe+1@acme.example"}}, lead.At(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	inserted, release, written, forgotten := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
	go func() {
		written <- handles[0].writer.do(t.Context(), &write{run: func(ctx context.Context, s session) error {
			err := insertChunk(ctx, s, rows, map[string]Accepted{})
			close(inserted)
			<-release
			return err
		}})
	}()
	<-inserted
	go func() {
		_, err := handles[1].Forget(t.Context(), "jane.doe@acme.example")
		forgotten <- err
	}()
	testkit.Eventually(t, 10*time.Second, "Forget waits, or is done", func() bool {
		waiting, err := readOne(t.Context(), handles[1].reader(), func(r *sql.Rows) (n int, err error) { return n, r.Scan(&n) },
			"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'suppressions'::regclass")
		return err != nil || waiting > 0 || len(forgotten) > 0
	})
	close(release)
	for what, done := range map[string]chan error{"the write": written, "Forget": forgotten} {
		if err := <-done; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if left, err := handles[0].LeadsOf(t.Context(), "jane.doe@acme.example"); err != nil || len(left) != 0 {
		t.Errorf("%d leads are left (%v)", len(left), err)
	}
}
