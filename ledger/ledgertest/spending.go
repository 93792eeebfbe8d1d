package ledgertest

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

// paid is a call at a time that a provider charges.
func paid(provider string, credits float64, at time.Time) lead.TrailEntry {
	e := entry(1, "paid", lead.At(at))
	e.Provider, e.Credits = provider, credits
	return e
}

// spent is what a provider cost in a month; it fails the test on an error.
func spent(t *testing.T, l *ledger.Ledger, provider string, now time.Time) float64 {
	t.Helper()
	_, month, err := l.Spent(t.Context(), provider, now)
	if err != nil {
		t.Fatal(err)
	}
	return month
}

func keepsCreditsAndConflicts(t *testing.T, open Opener, _ Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	id := accept(t, l, 0, 1)[0].LeadID
	first, free, second := paid("hunter", 0.25, c.now()), paid("clearbit", 0, c.now()), paid("hunter", 1.5, c.now())
	first.Conflicts = map[lead.Field]string{lead.PersonTitle: "CTO \x00 \"'株", lead.CompanyName: ""}
	version := record(t, l, ledger.Attempt{LeadID: id, Generation: 1, Version: 1, Trail: []lead.TrailEntry{first, free}})
	s := settlement(id, lead.StatusPartial, 1, 1)
	s.Version, s.Trail = version, []lead.TrailEntry{second, paid("pdl", 3, c.now())}
	settle(t, l, s)
	o := outcome(t, l, id)
	if want := append([]lead.TrailEntry{first, free}, s.Trail...); !cmp.Equal(o.Trail, want) {
		t.Errorf("trail (-want +got):\n%s", cmp.Diff(want, o.Trail))
	}
	if want := map[string]float64{"hunter": 1.75, "pdl": 3}; !cmp.Equal(o.Credits, want) {
		t.Errorf("credits %v, want %v", o.Credits, want)
	}
	if diff := cmp.Diff([]lead.Outcome{o}, outcomes(t, l, ledger.Filter{})); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func addsUpSpending(t *testing.T, open Opener, _ Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	id := accept(t, l, 0, 1)[0].LeadID
	day := func(month time.Month, day, hour int) time.Time {
		return time.Date(2026, month, day, hour, 0, 0, 0, time.UTC)
	}
	east := time.FixedZone("east", 9*3600)
	for _, e := range []lead.TrailEntry{
		paid("hunter", 1, day(2, 28, 23)),
		paid("hunter", 2, day(3, 1, 0)),
		paid("hunter", 4, time.Date(2026, 3, 2, 8, 0, 0, 0, east)), // the first of March in UTC
		paid("hunter", 8, day(3, 31, 23)),
		paid("hunter", 16, day(4, 1, 0)),
		paid("pdl", 32, day(3, 1, 12)),
		paid("pdl", 64, time.Time{}), // today
	} {
		record(t, l, ledger.Attempt{LeadID: id, Generation: 1, Trail: []lead.TrailEntry{e}})
	}
	for _, test := range []struct {
		provider   string
		now        time.Time
		day, month float64
	}{
		{"hunter", day(3, 1, 5), 6, 14},
		{"hunter", time.Date(2026, 3, 1, 5, 0, 0, 0, east), 1, 1}, // still February in UTC
		{"hunter", day(3, 31, 0), 8, 14},
		{"hunter", day(4, 30, 0), 0, 16},
		{"pdl", day(3, 1, 0), 96, 96},
		{"nobody", day(3, 1, 0), 0, 0},
	} {
		d, m, err := l.Spent(t.Context(), test.provider, test.now)
		if err != nil || d != test.day || m != test.month {
			t.Errorf("%s at %v: %v, %v, %v, want %v, %v", test.provider, test.now, d, m, err, test.day, test.month)
		}
	}
}

// countsRepeatedCallsOnce makes writes with costs many times, alone and together.
func countsRepeatedCallsOnce(t *testing.T, open Opener, _ Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now, GroupWait: 5 * time.Millisecond})
	const leads = 20
	accepted := accept(t, l, 0, leads)
	var wg sync.WaitGroup
	for i, a := range accepted {
		fenced := ledger.Attempt{LeadID: a.LeadID, Generation: 1, Version: 1, Trail: []lead.TrailEntry{paid("hunter", 1, c.now()), paid("hunter", 1, c.now())}}
		wg.Go(func() {
			for range 3 {
				if _, err := l.SaveAttempt(t.Context(), fenced); err != nil {
					t.Error(err)
				}
			}
			s := settlement(a.LeadID, lead.StatusPartial, 1, 1)
			s.Trail = []lead.TrailEntry{paid("pdl", float64(i), c.now())} // not fenced: the fallback's
			for range 3 {
				if _, err := l.Settle(t.Context(), s); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for provider, want := range map[string]float64{"hunter": 2 * leads, "pdl": leads * (leads - 1) / 2} {
		if got := spent(t, l, provider, c.now()); got != want {
			t.Errorf("%s cost %v, want %v", provider, got, want)
		}
	}
	for i, a := range accepted {
		o := outcome(t, l, a.LeadID)
		if o.Credits["hunter"] != 2 || o.Credits["pdl"] != float64(i) || len(o.Trail) != 3 {
			t.Errorf("lead %d cost %v in %d calls", i, o.Credits, len(o.Trail))
		}
	}
	// A run that was overtaken has spent all the same.
	late := ledger.Attempt{LeadID: accepted[0].LeadID, Generation: 1, Version: 1, Trail: []lead.TrailEntry{paid("late", 5, c.now())}}
	for range 2 {
		if _, err := l.SaveAttempt(t.Context(), late); err == nil {
			t.Error("a run that was overtaken got through")
		}
	}
	if d, m, err := l.Spent(t.Context(), "late", c.now()); err != nil || d != 5 || m != 5 {
		t.Errorf("a run that was overtaken: %v, %v, %v, want 5", d, m, err)
	}
}
