package ledgertest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

// attempt of a run that began from the given version.
func attempt(leadID string, version int64, what string) ledger.Attempt {
	return ledger.Attempt{
		LeadID: leadID, Generation: 1, Version: version, Progress: []byte(what), Trail: []lead.TrailEntry{entry(1, what, lead.Time{})},
	}
}

// record records and fails the test on an error.
func record(t *testing.T, l *ledger.Ledger, a ledger.Attempt) (version int64) {
	t.Helper()
	version, err := l.SaveAttempt(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func fencesAttempts(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	id := accept(t, l, 0, 1)[0].LeadID
	from := get(t, l, id).Version
	first := attempt(id, from, "the run that took over")
	first.StartedAt, first.Retries = lead.At(c.now()), 1
	after := record(t, l, first)
	if after <= from || get(t, l, id).Version != after {
		t.Errorf("version %d after %d", after, from)
	}

	late := attempt(id, from, "the run that was stopped")
	late.StartedAt, late.Retries = c.advance(-time.Hour), 7
	before := get(t, l, id)
	if _, err := l.SaveAttempt(t.Context(), late); !errors.Is(err, ledger.ErrStale) || ledger.IsAway(err) {
		t.Errorf("got %v, want ErrStale", err)
	}
	if diff := cmp.Diff(before, get(t, l, id)); diff != "" {
		t.Errorf("a run that was overtaken changed the lead:\n%s", diff)
	}
	if got := details(outcome(t, l, id).Trail); !cmp.Equal(got, []string{"the run that took over", "the run that was stopped"}) {
		t.Errorf("trail %q, want the calls of both", got)
	}
	if next := record(t, l, attempt(id, after, "on it goes")); next <= after {
		t.Errorf("version %d after %d", next, after)
	}
}

func fencesSettlements(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	id := accept(t, l, 0, 1)[0].LeadID
	from := get(t, l, id).Version
	record(t, l, attempt(id, from, "taken over"))
	late := settlement(id, lead.StatusEnriched, 4, 0)
	late.Version, late.Trail = from, []lead.TrailEntry{entry(1, "late", lead.Time{})}
	got, err := l.Settle(t.Context(), late)
	if !errors.Is(err, ledger.ErrStale) || !cmp.Equal(got, ledger.Settled{}) {
		t.Errorf("got %+v, %v, want ErrStale", got, err)
	}
	r := get(t, l, id)
	if !r.Live() || r.Status != "" {
		t.Errorf("a run that was overtaken settled the lead: %+v", r)
	}
	other := settlement(id, lead.StatusPartial, 1, 1)
	other.Version = r.Version
	if got := settle(t, l, other); !got.Applied || !got.First {
		t.Errorf("the run that goes on: %+v", got)
	}
	if get(t, l, id).Version <= r.Version {
		t.Errorf("a fenced settlement does not raise the version")
	}
	if got, err := l.Settle(t.Context(), late); !errors.Is(err, ledger.ErrStale) || got.Status != lead.StatusPartial || got.Applied {
		t.Errorf("got %+v, %v, want ErrStale and the status that is there", got, err)
	}
	if got := details(outcome(t, l, id).Trail); !cmp.Equal(got, []string{"taken over", "late"}) {
		t.Errorf("trail %q, want each call once", got)
	}
}

// fallbackOvertakesNobody guards the enrichment that is still in its call when the
// budget ends and the fallback settles.
func fallbackOvertakesNobody(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	id := accept(t, l, 0, 1)[0].LeadID
	from := record(t, l, attempt(id, get(t, l, id).Version, "first call"))
	partial := settlement(id, lead.StatusPartial, 1, 1)
	partial.Fallback = true
	settle(t, l, partial)
	if v := get(t, l, id).Version; v != from {
		t.Errorf("the fallback moved the version from %d to %d", from, v)
	}
	from = record(t, l, attempt(id, from, "second call"))
	enriched := settlement(id, lead.StatusEnriched, 4, 0)
	enriched.Version = from
	if got, want := settle(t, l, enriched), (ledger.Settled{Applied: true, Status: lead.StatusEnriched}); !cmp.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func fencesRunsBeforeAReplay(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	id := accept(t, l, 0, 1)[0].LeadID
	from := get(t, l, id).Version
	settle(t, l, settlement(id, lead.StatusPartial, 1, 1))
	if _, err := l.Reopen(t.Context(), []lead.Run{{LeadID: id, Generation: 1}}); err != nil {
		t.Fatal(err)
	}
	now := get(t, l, id)
	old := settlement(id, lead.StatusEnriched, 4, 0)
	old.Version = from
	if _, err := l.Settle(t.Context(), old); !errors.Is(err, ledger.ErrStale) {
		t.Errorf("a settlement of the run before: %v", err)
	}
	if _, err := l.SaveAttempt(t.Context(), attempt(id, now.Version, "of generation 1")); !errors.Is(err, ledger.ErrStale) {
		t.Errorf("an attempt with the new version but the old generation: %v", err)
	}
	after := get(t, l, id)
	if diff := cmp.Diff(now, after); diff != "" {
		t.Errorf("the run before changed the lead:\n%s", diff)
	}
}

func oneOfManyRunsGoesOn(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	const runs = 24
	id := accept(t, l, 0, 1)[0].LeadID
	from := get(t, l, id).Version
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		won []string
	)
	for i := range runs {
		wg.Go(func() {
			a := attempt(id, from, fmt.Sprint("run ", i))
			_, err := l.SaveAttempt(t.Context(), a)
			if err != nil && !errors.Is(err, ledger.ErrStale) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, string(a.Progress))
			}
		})
	}
	wg.Wait()
	r := get(t, l, id)
	if len(won) != 1 || string(r.Progress) != won[0] || r.Version != from+1 {
		t.Errorf("%q got through; the lead has version %d and progress %q", won, r.Version, r.Progress)
	}
	if n := len(outcome(t, l, id).Trail); n != runs {
		t.Errorf("%d trail entries, want those of all %d runs", n, runs)
	}
}

// repeatsWritesOnce makes each write twice, as a caller does to whom the answer
// was lost.
func repeatsWritesOnce(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	id := accept(t, l, 0, 1)[0].LeadID
	a := attempt(id, get(t, l, id).Version, "a call")
	version := record(t, l, a)
	if again := record(t, l, a); again != version {
		t.Errorf("the repetition gives version %d, want %d", again, version)
	}
	waiting := ledger.Attempt{LeadID: id, Generation: 1, Version: version, Progress: []byte("no call at all")}
	version = record(t, l, waiting)
	if again := record(t, l, waiting); again != version {
		t.Errorf("the repetition of a record without calls gives version %d, want %d", again, version)
	}

	s := settlement(id, lead.StatusEnriched, 3, 0)
	s.Version, s.Trail = version, []lead.TrailEntry{entry(2, "the last call", lead.At(c.now())), entry(2, "bytes \xff and \x00", lead.Time{})}
	first := settle(t, l, s)
	before := outcome(t, l, id)
	c.advance(time.Minute)
	if again := settle(t, l, s); !cmp.Equal(again, first) || !again.First {
		t.Errorf("the repetition says %+v, first it was %+v", again, first)
	}
	if diff := cmp.Diff(before, outcome(t, l, id)); diff != "" {
		t.Errorf("the repetition changed the outcome:\n%s", diff)
	}
	if _, err := l.SaveAttempt(t.Context(), a); !errors.Is(err, ledger.ErrStale) {
		t.Errorf("a repetition after others went on: %v, want ErrStale", err)
	}
	if got := details(outcome(t, l, id).Trail); !cmp.Equal(got, []string{"a call", "the last call", "bytes \ufffd and "}) {
		t.Errorf("trail %q, want each call once", got)
	}
}

func repeatsSettlementsOfTheFallback(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	id := accept(t, l, 0, 1)[0].LeadID
	s := settlement(id, lead.StatusPartial, 1, 1)
	s.Fallback, s.Trail = true, []lead.TrailEntry{entry(1, "fallback", lead.At(c.now())), entry(1, "directory", lead.At(c.now()))}
	first := settle(t, l, s)
	c.advance(time.Second)
	if again := settle(t, l, s); !cmp.Equal(again, first) {
		t.Errorf("the repetition says %+v, first it was %+v", again, first)
	}
	another := s
	another.Trail = []lead.TrailEntry{s.Trail[0], entry(1, "fallback", lead.At(c.now()))} // only the first is known
	if got := settle(t, l, another); got.Applied {
		t.Errorf("another settlement of the same score: %+v", got)
	}
	if got := details(outcome(t, l, id).Trail); !cmp.Equal(got, []string{"fallback", "directory", "fallback"}) {
		t.Errorf("trail %q", got)
	}
}

func keepsAlikeEntriesOfOneWrite(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	id := accept(t, l, 0, 1)[0].LeadID
	a := attempt(id, get(t, l, id).Version, "skip")
	a.Trail = append(a.Trail, a.Trail...)
	record(t, l, a)
	record(t, l, a)
	if got := details(outcome(t, l, id).Trail); !cmp.Equal(got, []string{"skip", "skip"}) {
		t.Errorf("trail %q", got)
	}
}

// repeatsWithinAGroup repeats writes that are committed together with their first.
func repeatsWithinAGroup(t *testing.T, open Opener) {
	l := open(t, ledger.Options{GroupWait: 20 * time.Millisecond})
	const rounds, callers = 5, 8
	id := accept(t, l, 0, 1)[0].LeadID
	var want []string
	for round := range rounds {
		a := attempt(id, 0, fmt.Sprint(round))
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				if _, err := l.SaveAttempt(t.Context(), a); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		want = append(want, fmt.Sprint(round))
	}
	if got := details(outcome(t, l, id).Trail); !cmp.Equal(got, want) {
		t.Errorf("trail %q, want %q", got, want)
	}
}
