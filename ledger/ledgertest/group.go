package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

// sparesCompanions writes what the database refuses (a negative number of
// retries) together with much that it takes.
func sparesCompanions(t *testing.T, open Opener) {
	l := open(t, ledger.Options{GroupWait: 20 * time.Millisecond})
	const n = 40
	accepted := accept(t, l, 0, n)
	for round := range 3 {
		var wg sync.WaitGroup
		for i, a := range accepted {
			poisoned := (i+round)%20 == 0
			wg.Go(func() {
				attempt := ledger.Attempt{LeadID: a.LeadID, Generation: 1, Retries: round, Trail: []lead.TrailEntry{entry(round, fmt.Sprint(round), lead.Time{})}}
				if poisoned {
					attempt.Retries = -1
				}
				_, err := l.SaveAttempt(t.Context(), attempt)
				if (err != nil) != poisoned || ledger.IsAway(err) {
					t.Errorf("round %d, lead %d, poisoned %v: %v", round, i, poisoned, err)
				}
			})
		}
		wg.Wait()
	}
	for i, a := range accepted {
		var want []string
		for round := range 3 {
			if (i+round)%20 != 0 {
				want = append(want, fmt.Sprint(round))
			}
		}
		if got := details(outcome(t, l, a.LeadID).Trail); !cmp.Equal(got, want) {
			t.Errorf("lead %d: trail %q, want %q", i, got, want)
		}
	}
	if _, err := l.Settle(t.Context(), settlement(accepted[0].LeadID, "splendid", 1, 1)); err == nil || ledger.IsAway(err) {
		t.Errorf("an unknown status: %v, want a lasting error", err)
	}
}

func leavesWithItsContext(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	id := accept(t, l, 0, 1)[0].LeadID
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // whether the writer takes the write before the caller leaves is a matter of luck
		_, err := l.Settle(ctx, settlement(id, lead.StatusPartial, 1, 1))
		if err != nil && (!errors.Is(err, context.Canceled) || ledger.IsAway(err)) {
			t.Fatalf("got %v, want the context's error", err)
		}
	}
	if _, err := l.Get(ctx, id); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	settle(t, l, settlement(id, lead.StatusEnriched, 1, 0)) // the ledger goes on
}

func endsWithClose(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	accepted := accept(t, l, 0, 30)
	var wg sync.WaitGroup
	for _, a := range accepted {
		wg.Go(func() {
			_, err := l.Settle(t.Context(), settlement(a.LeadID, lead.StatusPartial, 1, 1))
			if err != nil && !errors.Is(err, ledger.ErrClosed) {
				t.Errorf("a write that came before or after the end: %v", err)
			}
		})
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if _, err := l.SaveAttempt(t.Context(), ledger.Attempt{LeadID: accepted[0].LeadID}); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}
