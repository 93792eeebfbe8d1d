package ledgertest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

// settleHourly settles leads, one each hour from the clock's time on, with two calls
// each.
func settleHourly(t *testing.T, l *ledger.Ledger, c *clock, n int) (ids []string, at []time.Time) {
	t.Helper()
	for _, a := range accept(t, l, 0, n) {
		s := settlement(a.LeadID, lead.StatusPartial, 1, 1)
		s.Trail = []lead.TrailEntry{paid("hunter", 1, c.now()), entry(2, "second", lead.At(c.now()))}
		settle(t, l, s)
		ids, at = append(ids, a.LeadID), append(at, c.now())
		c.advance(time.Hour)
	}
	return ids, at
}

// expire expires and fails the test on an error.
func expire(t *testing.T, l *ledger.Ledger, outcomesBefore, trailsBefore time.Time, limit int) ledger.Expired {
	t.Helper()
	e, err := l.Expire(t.Context(), outcomesBefore, trailsBefore, limit)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func expiresLeads(t *testing.T, open Opener, text Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	ids, at := settleHourly(t, l, c, 8)
	live := accept(t, l, 100, 1)[0].LeadID
	if _, err := l.Reopen(t.Context(), []lead.Run{{LeadID: ids[0], Generation: 1}, {LeadID: ids[2], Generation: 1}}); err != nil {
		t.Fatal(err)
	}
	again := settlement(ids[2], lead.StatusPartial, 1, 1)
	again.Generation = 2
	settle(t, l, again) // no better: the outcome is as old as before
	ref := func(i, generation int) lead.Run { return lead.Run{LeadID: ids[i], Generation: generation} }
	for i, want := range []ledger.Expired{
		{Leads: []lead.Run{ref(1, 1), ref(2, 2)}},
		{Leads: []lead.Run{ref(3, 1), ref(4, 1)}},
		{Leads: []lead.Run{ref(5, 1)}},
		{},
	} {
		if got := expire(t, l, at[6], time.Time{}, 2); !cmp.Equal(got, want) {
			t.Errorf("call %d: got %+v, want %+v", i, got, want)
		}
	}
	left := text(t, l)
	for i, id := range ids {
		_, err := l.Outcome(t.Context(), id)
		if gone := i >= 1 && i <= 5; errors.Is(err, ledger.ErrNotFound) != gone {
			t.Errorf("lead %d: %v", i, err)
		} else if gone {
			nothingOf(t, left, id, makeLead(i).Email)
		}
	}
	if r := get(t, l, live); !r.Live() {
		t.Errorf("the lead that is open: %+v", r)
	}
	if got := spent(t, l, "hunter", c.now()); got != 8 {
		t.Errorf("spent %v, want what all leads cost", got)
	}
	if a := accept(t, l, 1, 1)[0]; a.Duplicate || a.Suppressed || !a.Live {
		t.Errorf("a lead that has expired and comes again: %+v", a)
	}
}

func expiresTrails(t *testing.T, open Opener, _ Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	ids, at := settleHourly(t, l, c, 5)
	for i, want := range []int{2, 1, 0} {
		if got := expire(t, l, time.Time{}, at[3], 2); !cmp.Equal(got, ledger.Expired{Trails: want}) {
			t.Errorf("call %d: got %+v, want %d", i, got, want)
		}
	}
	for i, id := range ids {
		o := outcome(t, l, id)
		if kept := len(o.Trail) == 2; kept != (i >= 3) || o.Credits["hunter"] != 1 || o.Status != lead.StatusPartial {
			t.Errorf("lead %d has %d trail entries and cost %v", i, len(o.Trail), o.Credits)
		}
	}
	// A replay goes on after the trail that is gone, and what it adds expires like any
	// other: its outcome is as old as before, because it is no better.
	if _, err := l.Reopen(t.Context(), []lead.Run{{LeadID: ids[0], Generation: 1}}); err != nil {
		t.Fatal(err)
	}
	record(t, l, ledger.Attempt{LeadID: ids[0], Generation: 2, Version: get(t, l, ids[0]).Version, Trail: []lead.TrailEntry{paid("hunter", 1, c.now())}})
	if got := expire(t, l, time.Time{}, at[3], 2); got.Trails != 0 {
		t.Errorf("the trail of a live lead: %+v", got)
	}
	again := settlement(ids[0], lead.StatusPartial, 1, 1)
	again.Generation = 2
	settle(t, l, again)
	if o := outcome(t, l, ids[0]); !cmp.Equal(details(o.Trail), []string{"paid"}) || o.Credits["hunter"] != 2 {
		t.Errorf("after the replay: trail %q, cost %v", details(o.Trail), o.Credits)
	}
	for i, want := range []int{1, 0} {
		if got := expire(t, l, time.Time{}, at[3], 2); got.Trails != want {
			t.Errorf("call %d after the replay: %+v, want %d", i, got, want)
		}
	}
}

func expiresBothAtOnce(t *testing.T, open Opener, text Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	ids, at := settleHourly(t, l, c, 6)
	settle(t, l, settlement(ids[0], lead.StatusSuppressed, 0, 0)) // is the youngest now
	if got := expire(t, l, time.Time{}, time.Time{}, 9); !cmp.Equal(got, ledger.Expired{}) {
		t.Errorf("no limit of age: %+v", got)
	}
	if got := expire(t, l, at[5], at[5], 0); !cmp.Equal(got, ledger.Expired{}) {
		t.Errorf("no room: %+v", got)
	}
	want := ledger.Expired{Leads: []lead.Run{{LeadID: ids[1], Generation: 1}, {LeadID: ids[2], Generation: 1}}, Trails: 2}
	if got := expire(t, l, at[3], at[5], 9); !cmp.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	c.advance(time.Hour)
	if got := expire(t, l, c.now(), time.Time{}, 9); len(got.Leads) != 4 || got.Leads[3].LeadID != ids[0] {
		t.Errorf("got %+v, want the suppressed lead too, and last", got)
	}
	nothingOf(t, text(t, l), "acme.example", "ld_")
	if a := accept(t, l, 0, 1)[0]; !a.Suppressed {
		t.Errorf("the suppression has expired: %+v", a)
	}
}

// listsWhatExpires checks that who removes something beside the ledger is told before
// what goes, in the same order.
func listsWhatExpires(t *testing.T, open Opener, _ Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	ids, at := settleHourly(t, l, c, 7)
	accept(t, l, 100, 1)
	if _, err := l.Reopen(t.Context(), []lead.Run{{LeadID: ids[0], Generation: 1}, {LeadID: ids[2], Generation: 1}}); err != nil {
		t.Fatal(err)
	}
	again := settlement(ids[2], lead.StatusPartial, 1, 1)
	again.Generation = 2
	settle(t, l, again)
	expirable := func(before time.Time, limit int) []lead.Run {
		refs, err := l.Expirable(t.Context(), before, limit)
		if err != nil {
			t.Fatal(err)
		}
		return refs
	}
	if got := expirable(time.Time{}, 9); len(got) != 0 {
		t.Errorf("no limit of age: %v", got)
	}
	if got := expirable(at[6], 0); len(got) != 0 {
		t.Errorf("no room: %v", got)
	}
	if got := expirable(at[6], 9); len(got) != 5 { // 1 to 5: 0 is live, 6 is not too old
		t.Errorf("all: %v", got)
	}
	for i, want := range [][]lead.Run{
		{{LeadID: ids[1], Generation: 1}, {LeadID: ids[2], Generation: 2}},
		{{LeadID: ids[3], Generation: 1}, {LeadID: ids[4], Generation: 1}},
		{{LeadID: ids[5], Generation: 1}},
		nil,
	} {
		for range 2 { // nothing is changed by it
			if got := expirable(at[6], 2); !cmp.Equal(got, want) {
				t.Errorf("page %d: got %v, want %v", i, got, want)
			}
		}
		if got := expire(t, l, at[6], at[6], 2); !cmp.Equal(got.Leads, want) {
			t.Errorf("page %d: %v have expired, want %v", i, got.Leads, want)
		}
	}
}

func expiresCircuitEvents(t *testing.T, open Opener, _ Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	for range 7 {
		if err := l.RecordTransition(t.Context(), ledger.CircuitEvent{Provider: "hunter", From: "closed", To: "open", At: c.now()}); err != nil {
			t.Fatal(err)
		}
		c.advance(time.Hour)
	}
	c.advance(ledger.CircuitEventAge - 150*time.Minute) // the first five are older
	for i, want := range []int64{4, 2, 2} {
		expire(t, l, time.Time{}, time.Time{}, 2)
		m, err := l.Measures(t.Context(), time.Time{})
		if err != nil || m.Trips["hunter"] != want {
			t.Errorf("call %d left %d events (%v), want %d", i, m.Trips["hunter"], err, want)
		}
	}
}
