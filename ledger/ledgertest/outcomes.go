package ledgertest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

// settleMany settles leads with outcomes of which many have the same time, over
// more than two pages.
func settleMany(t *testing.T, l *ledger.Ledger, c *clock, n int) []ledger.Accepted {
	t.Helper()
	accepted := accept(t, l, 0, n)
	errs := make(chan error)
	for start := 0; start < n; start += 400 {
		batch := accepted[start:min(start+400, n)]
		for i, a := range batch {
			go func() {
				s := settlement(a.LeadID, []lead.Status{lead.StatusPartial, lead.StatusEnriched}[i%2], 1, 1)
				s.Trail = []lead.TrailEntry{entry(1, a.LeadID, lead.Time{}), entry(2, a.LeadID, lead.Time{})}
				_, err := l.Settle(t.Context(), s)
				errs <- err
			}()
		}
		for range batch {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		c.advance(time.Millisecond)
	}
	return accepted
}

func pagesOutcomes(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	accepted := settleMany(t, l, c, 1203)
	got := outcomes(t, l, ledger.Filter{})
	seen := map[string]bool{}
	for i, o := range got {
		seen[o.LeadID] = true
		if !cmp.Equal(details(o.Trail), []string{o.LeadID, o.LeadID}) {
			t.Fatalf("outcome %d has the trail %q", i, details(o.Trail))
		}
		if i > 0 && !inOrder(got[i-1], o) {
			t.Fatalf("outcomes %d and %d are not in order", i-1, i)
		}
	}
	if len(got) != len(accepted) || len(seen) != len(accepted) {
		t.Errorf("%d outcomes of %d leads, want %d", len(got), len(seen), len(accepted))
	}
}

func inOrder(a, b lead.Outcome) bool {
	if !a.SettledAt.Equal(b.SettledAt.Time) {
		return a.SettledAt.Before(b.SettledAt.Time)
	}
	return a.LeadID < b.LeadID
}

func filtersOutcomes(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	web := makeLead(2)
	web.Source = "web"
	accepted, err := l.Accept(t.Context(), []lead.Lead{makeLead(0), makeLead(1), web, makeLead(3)})
	if err != nil {
		t.Fatal(err)
	}
	ids, at := []string{}, []time.Time{}
	for i, status := range []lead.Status{lead.StatusEnriched, lead.StatusPartial, lead.StatusPartial} {
		at = append(at, c.advance(time.Second).Time)
		ids = append(ids, accepted[i].LeadID)
		settle(t, l, settlement(accepted[i].LeadID, status, 1, 0))
	}
	for _, test := range []struct {
		name   string
		filter ledger.Filter
		want   []int
	}{
		{"no filter gives the settled leads", ledger.Filter{}, []int{0, 1, 2}},
		{"by status", ledger.Filter{Statuses: []lead.Status{lead.StatusPartial}}, []int{1, 2}},
		{"by several statuses", ledger.Filter{Statuses: []lead.Status{lead.StatusPartial, lead.StatusEnriched}}, []int{0, 1, 2}},
		{"by a status that no lead has", ledger.Filter{Statuses: []lead.Status{lead.StatusSuppressed}}, nil},
		{"settled at the very time", ledger.Filter{Since: at[1]}, []int{1, 2}},
		{"settled after", ledger.Filter{Since: at[1].Add(time.Millisecond)}, []int{2}},
		{"by source", ledger.Filter{Source: "web"}, []int{2}},
		{"by all together", ledger.Filter{Statuses: []lead.Status{lead.StatusPartial}, Since: at[0], Source: "crm"}, []int{1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []int
			for _, o := range outcomes(t, l, test.filter) {
				got = append(got, slices.Index(ids, o.LeadID))
			}
			if !cmp.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if n, err := l.CountOutcomes(t.Context(), test.filter); n != len(test.want) || err != nil {
				t.Errorf("counted %d, %v, want %d", n, err, len(test.want))
			}
		})
	}
}

// readsEachOnce raises outcomes behind and before the reader, which may take long.
func readsEachOnce(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	const n = 1100
	accepted := settleMany(t, l, c, n)
	seen := map[string]int{}
	for o, err := range l.Outcomes(t.Context(), ledger.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[o.LeadID]++
		if len(seen)%100 == 0 {
			c.advance(time.Second)
			settle(t, l, settlement(o.LeadID, lead.StatusEnriched, 2, 0))
			settle(t, l, settlement(accepted[len(seen)-1].LeadID, lead.StatusEnriched, 2, 0))
			accept(t, l, n+len(seen), 1)
		}
	}
	for _, a := range accepted {
		if seen[a.LeadID] != 1 {
			t.Errorf("an outcome came %d times", seen[a.LeadID])
		}
	}
	if len(seen) != n {
		t.Errorf("%d leads, want %d", len(seen), n)
	}
}

func stopsEarly(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	settleMany(t, l, c, 3)
	for range 50 { // each would keep a connection if it did not end
		for _, err := range l.Outcomes(t.Context(), ledger.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
}

func readsOutcomesInProgress(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	a := accept(t, l, 0, 1)[0]
	at := lead.At(c.now())
	if _, err := l.SaveAttempt(t.Context(), ledger.Attempt{LeadID: a.LeadID, Generation: 1, StartedAt: at, Trail: []lead.TrailEntry{entry(1, "so far", at)}}); err != nil {
		t.Fatal(err)
	}
	want := lead.Outcome{
		LeadID: a.LeadID, RequestID: a.RequestID, Source: "crm", SourceID: "r-00000", Profile: lead.Profile{}, Missing: []lead.Field{},
		Provenance: map[lead.Field]lead.Origin{}, Trail: []lead.TrailEntry{entry(1, "so far", at)}, AcceptedAt: at, StartedAt: at,
		Credits: map[string]float64{},
	}
	if diff := cmp.Diff(want, outcome(t, l, a.LeadID)); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if got := outcomes(t, l, ledger.Filter{}); len(got) != 0 {
		t.Errorf("an open lead is among the outcomes")
	}
}
