package ledgertest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

func settles(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	a := accept(t, l, 0, 1)[0]
	acceptedAt := lead.At(c.now())
	startedAt := c.advance(time.Second)
	settledAt := c.advance(2 * time.Second)
	s := settlement(a.LeadID, lead.StatusPartial, 2, 1)
	s.StartedAt, s.Trail = startedAt, []lead.TrailEntry{entry(1, "only", startedAt)}
	s.Facts.Provenance[lead.PersonName] = lead.Origin{Provider: "hunter", AsOf: startedAt}

	if got, want := settle(t, l, s), (ledger.Settled{Applied: true, Status: lead.StatusPartial, First: true}); !cmp.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want := lead.Outcome{
		LeadID: a.LeadID, RequestID: a.RequestID, Source: "crm", SourceID: "r-00000", Status: lead.StatusPartial, Reason: "partial",
		Profile: s.Facts.Profile, Missing: s.Missing, Provenance: s.Facts.Provenance, Trail: s.Trail,
		Credits: map[string]float64{}, AcceptedAt: acceptedAt, StartedAt: startedAt, SettledAt: settledAt,
	}
	if diff := cmp.Diff(want, outcome(t, l, a.LeadID)); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]lead.Outcome{want}, outcomes(t, l, ledger.Filter{})); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if r := get(t, l, a.LeadID); r.Status != lead.StatusPartial || r.SettledAt != settledAt || r.StartedAt != startedAt || r.SettledGeneration != 1 || r.Live() {
		t.Errorf("lead %+v", r)
	}
}

func ordersOutcomes(t *testing.T, open Opener) {
	type step struct {
		status         lead.Status
		known, missing int
	}
	for _, test := range []struct {
		name    string
		there   step
		then    step
		applied bool
	}{
		{"enriched replaces partial", step{lead.StatusPartial, 5, 1}, step{lead.StatusEnriched, 4, 0}, true},
		{"partial does not replace enriched", step{lead.StatusEnriched, 4, 0}, step{lead.StatusPartial, 9, 1}, false},
		{"suppressed replaces enriched", step{lead.StatusEnriched, 9, 0}, step{lead.StatusSuppressed, 0, 9}, true},
		{"enriched does not replace suppressed", step{lead.StatusSuppressed, 0, 9}, step{lead.StatusEnriched, 9, 0}, false},
		{"fewer missing fields are better", step{lead.StatusPartial, 9, 3}, step{lead.StatusPartial, 2, 2}, true},
		{"more known fields are better", step{lead.StatusPartial, 2, 2}, step{lead.StatusPartial, 3, 2}, true},
		{"the same again changes nothing", step{lead.StatusPartial, 2, 2}, step{lead.StatusPartial, 2, 2}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClock()
			l := open(t, ledger.Options{Now: c.now})
			id := accept(t, l, 0, 1)[0].LeadID
			first := settlement(id, test.there.status, test.there.known, test.there.missing)
			first.Trail = []lead.TrailEntry{entry(1, "first", lead.Time{})}
			settle(t, l, first)
			before := outcome(t, l, id)
			c.advance(time.Minute)
			second := settlement(id, test.then.status, test.then.known, test.then.missing)
			second.Trail = []lead.TrailEntry{entry(2, "second", lead.Time{})}

			want := ledger.Settled{Applied: test.applied, Status: test.there.status}
			if test.applied {
				want.Status = test.then.status
			}
			if got := settle(t, l, second); !cmp.Equal(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			after := outcome(t, l, id)
			if after.Status != want.Status || (after.SettledAt == before.SettledAt) == test.applied {
				t.Errorf("outcome %s of %v, before %s of %v", after.Status, after.SettledAt, before.Status, before.SettledAt)
			}
			if got := details(after.Trail); !cmp.Equal(got, []string{"first", "second"}) {
				t.Errorf("trail %q, want it extended in any case", got)
			}
		})
	}
}

func concurrentSettlesEndAtTheBest(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	const leads, callers = 6, 48
	accepted := accept(t, l, 0, leads)
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		first   = map[string]int{}
		statusN = len(lead.Statuses)
	)
	for i := range callers {
		for _, a := range accepted {
			wg.Go(func() {
				s := settlement(a.LeadID, lead.Statuses[(i*5+2)%statusN], i%7, i%5)
				s.Trail = []lead.TrailEntry{entry(i, fmt.Sprint(i), lead.Time{})}
				got, err := l.Settle(t.Context(), s)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if got.First {
					first[a.LeadID]++
				}
			})
		}
	}
	wg.Wait()
	best := 0
	for i := range callers {
		s := settlement("", lead.Statuses[(i*5+2)%statusN], i%7, i%5)
		o := lead.Outcome{Status: s.Status, Missing: s.Missing, Profile: s.Facts.Profile}
		if o.Status == lead.StatusSuppressed { // nothing is kept
			o = lead.Outcome{Status: o.Status}
		}
		best = max(best, o.Score())
	}
	for _, a := range accepted {
		o := outcome(t, l, a.LeadID)
		if o.Score() != best || first[a.LeadID] != 1 || len(o.Trail) != callers {
			t.Errorf("score %d, want %d; %d settlements were the first; %d trail entries, want %d", o.Score(), best, first[a.LeadID], len(o.Trail), callers)
		}
	}
}

func settlesAnyText(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	id := accept(t, l, 0, 1)[0].LeadID
	s := settlement(id, lead.StatusPartial, 0, 0)
	s.Reason = "não há dados 🤷 \x00 '; DROP TABLE leads; --"
	s.Facts.Merge(lead.Profile{lead.PersonName: "NUL \x00 and 株式会社"}, lead.Origin{Provider: "hunter"}, nil)
	s.Trail = []lead.TrailEntry{entry(1, "bytes \xff\xfe and \x00", lead.Time{})}
	settle(t, l, s)
	o := outcome(t, l, id)
	if o.Reason != "não há dados 🤷  '; DROP TABLE leads; --" || o.Profile[lead.PersonName] != "NUL \x00 and 株式会社" || o.Trail[0].Detail != "bytes \ufffd\ufffd and " {
		t.Errorf("got %q, %q, %q", o.Reason, o.Profile[lead.PersonName], o.Trail[0].Detail)
	}
}

func settlesGenerations(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	id := accept(t, l, 0, 1)[0].LeadID
	s := settlement(id, lead.StatusPartial, 1, 1)
	s.StartedAt = lead.At(c.now())
	settle(t, l, s)
	if _, err := l.Reopen(t.Context(), []lead.Run{{LeadID: id, Generation: 1}}); err != nil {
		t.Fatal(err)
	}
	settle(t, l, s) // once more, by a task of the generation that is over
	if r := get(t, l, id); !r.Live() || r.Status != lead.StatusPartial {
		t.Errorf("an old settlement settled the new generation: %+v", r)
	}
	s.Generation, s.StartedAt = 2, c.advance(time.Hour)
	if got := settle(t, l, s); got.Applied || got.First {
		t.Errorf("an outcome that is no better was applied: %+v", got)
	}
	if r := get(t, l, id); r.Live() {
		t.Errorf("the lead is live though its generation is settled: %+v", r)
	}
	better := settlement(id, lead.StatusEnriched, 1, 0)
	better.Generation = 2
	settle(t, l, better)
	if o := outcome(t, l, id); o.StartedAt != s.StartedAt {
		t.Errorf("the outcome started at %v, want its own generation's %v", o.StartedAt, s.StartedAt)
	}
}
