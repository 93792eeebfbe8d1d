package ledgertest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

func acceptsInOrder(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	accepted := accept(t, l, 0, 5)
	requests := map[string]bool{}
	for i, a := range accepted {
		want := makeLead(i)
		if a.LeadID != want.ID() || a.Lead != want || a.Generation != 1 || a.Duplicate || !a.Live {
			t.Errorf("lead %d: got %+v", i, a)
		}
		if len(a.RequestID) != 36 || !strings.HasPrefix(a.RequestID, "req_") || strings.Contains(a.RequestID, "-") {
			t.Errorf("request ID %q, want req_ and a UUID without dashes", a.RequestID)
		}
		requests[a.RequestID] = true
		got := get(t, l, a.LeadID)
		diff := cmp.Diff(ledger.Record{LeadID: a.LeadID, RequestID: a.RequestID, Generation: 1, Lead: want, Version: 1, AcceptedAt: lead.At(c.now())}, got)
		if diff != "" || !got.Live() {
			t.Errorf("stored lead (-want +got, live %v):\n%s", got.Live(), diff)
		}
	}
	if len(requests) != len(accepted) {
		t.Errorf("%d request IDs for %d leads", len(requests), len(accepted))
	}
	if none, err := l.Accept(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("no leads: got %v, %v", none, err)
	}
}

func acceptsTwiceOnce(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	again := makeLead(1)
	again.Title = "a later row of the same lead"
	got, err := l.Accept(t.Context(), []lead.Lead{makeLead(1), makeLead(2), again, makeLead(1)})
	if err != nil {
		t.Fatal(err)
	}
	first := got[0]
	first.Duplicate = true
	if got[0].Duplicate || got[1].Duplicate || got[2] != first || got[3] != first {
		t.Errorf("got %+v", got)
	}
}

func acceptsAgain(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	before := accept(t, l, 0, 3)
	settle(t, l, settlement(before[1].LeadID, lead.StatusPartial, 1, 2))

	changed := makeLead(0)
	changed.Title = "changed at the source"
	got, err := l.Accept(t.Context(), []lead.Lead{makeLead(7), changed, makeLead(1)})
	if err != nil {
		t.Fatal(err)
	}
	live, settled := before[0], before[1]
	live.Duplicate, settled.Duplicate, settled.Live = true, true, false
	if got[0].Duplicate || got[1] != live || got[2] != settled {
		t.Errorf("got %+v", got)
	}
}

// acceptsManyAtOnce accepts more than one statement takes.
func acceptsManyAtOnce(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	const n = 3_500
	for i, a := range accept(t, l, 0, n) {
		if a.Duplicate || a.Lead != makeLead(i) {
			t.Fatalf("lead %d: got %+v", i, a)
		}
	}
	for i, a := range accept(t, l, 1, n) {
		if a.Duplicate != (i < n-1) || a.Lead != makeLead(i+1) {
			t.Fatalf("lead %d again: got %+v", i+1, a)
		}
	}
	counts, err := l.Counts(t.Context())
	if err != nil || counts.Accepted != n+1 {
		t.Errorf("got %+v, %v, want %d accepted", counts, err, n+1)
	}
}

func acceptsConcurrently(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	const callers, leads = 8, 40
	results := make([][]ledger.Accepted, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			var batch []lead.Lead
			for n := range leads {
				batch = append(batch, makeLead((n*7+i*5)%leads)) // each in another order
			}
			var err error
			if results[i], err = l.Accept(t.Context(), batch); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	requests, fresh := map[string]string{}, 0
	for _, result := range results {
		for _, a := range result {
			if !a.Duplicate {
				fresh++
			}
			if known := requests[a.LeadID]; known != "" && known != a.RequestID {
				t.Errorf("one lead has two request IDs")
			}
			requests[a.LeadID] = a.RequestID
		}
	}
	if fresh != leads || len(requests) != leads {
		t.Errorf("%d leads were new and %d are there, want %d of each", fresh, len(requests), leads)
	}
}

func acceptsAnyText(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	long := strings.Repeat("é", lead.MaxFieldLength/2)
	leads := []lead.Lead{
		{Source: "Übersicht 株式会社.csv", SourceID: "№ 7", Name: "Zoë Ångström-Łuczak 👩🏽‍🔬", Company: `O'Neil "&" <Söhne> \ $1 ?1 {list $1}`},
		{Source: long, SourceID: long, Name: long, GivenName: long, FamilyName: long, Title: long, Company: long, LinkedIn: long, Phone: long, Location: long},
		{Name: "محمد", Email: "m@xn--bcher-kva.example"},
		{Name: "line\u2028separator \u202eright-to-left"},
	}
	accepted, err := l.Accept(t.Context(), leads)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range accepted {
		if diff := cmp.Diff(leads[i], get(t, l, a.LeadID).Lead); diff != "" {
			t.Errorf("lead %d is stored as something else (-want +got):\n%s", i, diff)
		}
		settle(t, l, settlement(a.LeadID, lead.StatusPartial, 1, 1))
	}
	for i, ld := range leads {
		if ld.Source == "" {
			continue
		}
		found := outcomes(t, l, ledger.Filter{Source: ld.Source})
		if len(found) != 1 || found[0].LeadID != accepted[i].LeadID || found[0].SourceID != ld.SourceID {
			t.Errorf("source of lead %d: found %d outcomes", i, len(found))
		}
	}
}

func marksEnqueued(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	accepted := accept(t, l, 0, 3)
	at := c.advance(time.Second)
	refs := []lead.Run{{LeadID: accepted[0].LeadID, Generation: 1}, {LeadID: accepted[1].LeadID, Generation: 2}, {LeadID: "ld_unknown", Generation: 1}}
	if err := l.MarkEnqueued(t.Context(), refs); err != nil {
		t.Fatal(err)
	}
	if got := get(t, l, accepted[0].LeadID).EnqueuedAt; got != at {
		t.Errorf("enqueued at %v, want %v", got, at)
	}
	for _, a := range accepted[1:] {
		if got := get(t, l, a.LeadID).EnqueuedAt; !got.IsZero() {
			t.Errorf("a lead of another generation, or not named, is marked as enqueued at %v", got)
		}
	}
	if err := l.MarkEnqueued(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func savesAttempts(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	id := accept(t, l, 0, 1)[0].LeadID
	started := lead.At(c.now())
	progress := []byte("{\"heard\":[\"clearbit\"]}\x00\xff any bytes")
	steps := []ledger.Attempt{
		{LeadID: id, Generation: 1, StartedAt: started, Retries: 1, Progress: progress, Trail: []lead.TrailEntry{entry(1, "a", started), entry(1, "b", started)}},
		{LeadID: id, Generation: 1, StartedAt: c.advance(time.Second), Retries: 2, Trail: []lead.TrailEntry{entry(2, "c", lead.Time{})}},
	}
	for _, a := range steps {
		if _, err := l.SaveAttempt(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	r, o := get(t, l, id), outcome(t, l, id)
	if r.StartedAt != started || string(r.Progress) != string(progress) || r.Status != "" || !r.Live() {
		t.Errorf("got %+v", r)
	}
	want := []lead.TrailEntry{entry(1, "a", started), entry(1, "b", started), entry(2, "c", lead.Time{})}
	if diff := cmp.Diff(want, o.Trail); diff != "" {
		t.Errorf("trail (-want +got):\n%s", diff)
	}
	if _, err := l.SaveAttempt(t.Context(), ledger.Attempt{LeadID: id, Generation: 1, Progress: []byte{}}); err != nil {
		t.Fatal(err)
	}
	if r := get(t, l, id); len(r.Progress) != 0 {
		t.Errorf("progress is %q after it was emptied", r.Progress)
	}
}

// recordsOldGenerations guards against an attempt that was slow: what it
// remembers is not that of the generation that runs now.
func savesOldGenerations(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	id := accept(t, l, 0, 1)[0].LeadID
	settle(t, l, settlement(id, lead.StatusPartial, 1, 1))
	if _, err := l.Reopen(t.Context(), []lead.Run{{LeadID: id, Generation: 1}}); err != nil {
		t.Fatal(err)
	}
	old := ledger.Attempt{LeadID: id, Generation: 1, StartedAt: lead.At(time.Now()), Retries: 3, Progress: []byte("old"), Trail: []lead.TrailEntry{entry(1, "late", lead.Time{})}}
	if _, err := l.SaveAttempt(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if r := get(t, l, id); r.Progress != nil || !r.StartedAt.IsZero() || !r.Live() {
		t.Errorf("an old attempt changed the new generation: %+v", r)
	}
	if got := details(outcome(t, l, id).Trail); !cmp.Equal(got, []string{"late"}) {
		t.Errorf("trail %q", got)
	}
}

func refusesUnknownLeads(t *testing.T, open Opener) {
	l, ctx := open(t, ledger.Options{}), t.Context()
	_, getErr := l.Get(ctx, "ld_unknown")
	_, outcomeErr := l.Outcome(ctx, "ld_unknown")
	_, findErr := l.Find(ctx, "nobody@acme.example")
	_, settleErr := l.Settle(ctx, settlement("ld_unknown", lead.StatusPartial, 1, 1))
	_, recordErr := l.SaveAttempt(ctx, ledger.Attempt{LeadID: "ld_unknown", Generation: 1, Trail: []lead.TrailEntry{entry(1, "", lead.Time{})}})
	for call, err := range map[string]error{"Get": getErr, "Outcome": outcomeErr, "Find": findErr, "Settle": settleErr, "Record": recordErr} {
		switch {
		case !errors.Is(err, ledger.ErrNotFound):
			t.Errorf("%s: %v, want ErrNotFound", call, err)
		case ledger.IsAway(err):
			t.Errorf("%s: an unknown lead counts as a database that is away", call)
		case strings.Contains(err.Error(), "nobody"):
			t.Errorf("%s: the error holds an address", call)
		}
	}
}
