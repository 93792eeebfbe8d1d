package ledgertest

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

func pagesLiveLeads(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	accepted := accept(t, l, 0, 25)
	var want []string
	for i, a := range accepted {
		if i%3 == 0 {
			settle(t, l, settlement(a.LeadID, lead.StatusPartial, 1, 1))
			continue
		}
		want = append(want, a.LeadID)
	}
	slices.Sort(want)
	before := c.advance(time.Second).Time
	accept(t, l, 100, 5) // at that very time, so not before it

	var got []string
	for after := ""; ; {
		page, err := l.LivePage(t.Context(), after, before, 4)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			got = append(got, r.LeadID)
		}
		after = got[len(got)-1]
	}
	if !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if all, err := l.LivePage(t.Context(), "", time.Time{}, math.MaxInt32); err != nil || len(all) != len(want)+5 {
		t.Errorf("without a time: %d leads, %v, want %d", len(all), err, len(want)+5)
	}
}

func readsManyLeads(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	accepted := accept(t, l, 0, 5)
	settle(t, l, settlement(accepted[1].LeadID, lead.StatusPartial, 1, 1))
	var want []ledger.Record
	ids := []string{"ld_unknown", ""}
	for _, a := range accepted[1:4] {
		ids = append(ids, a.LeadID)
		want = append(want, get(t, l, a.LeadID))
	}
	slices.SortFunc(want, func(a, b ledger.Record) int { return strings.Compare(a.LeadID, b.LeadID) })
	got, err := l.Records(t.Context(), ids)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := l.Records(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("no IDs: %v, %v", got, err)
	}
}

func pagesUnqueuedLeads(t *testing.T, open Opener) {
	c := newClock()
	l, ctx := open(t, ledger.Options{Now: c.now}), t.Context()
	accepted := accept(t, l, 0, 9)
	ref := func(i int) lead.Run { return lead.Run{LeadID: accepted[i].LeadID, Generation: 1} }
	if err := l.MarkEnqueued(ctx, []lead.Run{ref(0), ref(1), ref(2)}); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{2, 3, 4} { // one that was queued, two that were not
		settle(t, l, settlement(accepted[i].LeadID, lead.StatusPartial, 1, 1))
	}
	if _, err := l.Reopen(ctx, []lead.Run{ref(2), ref(4)}); err != nil {
		t.Fatal(err)
	}
	before := c.advance(time.Second).Time
	accept(t, l, 100, 2) // at that very time
	var want, got []string
	for _, i := range []int{2, 4, 5, 6, 7, 8} {
		want = append(want, accepted[i].LeadID)
	}
	slices.Sort(want)
	for after := ""; ; {
		page, err := l.UnqueuedPage(ctx, after, before, 4)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			got = append(got, r.LeadID)
		}
		after = got[len(got)-1]
	}
	if !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func knowsWhichAreSettled(t *testing.T, open Opener) {
	l, ctx := open(t, ledger.Options{}), t.Context()
	accepted := accept(t, l, 0, 3)
	replayed, settled, live := accepted[0].LeadID, accepted[1].LeadID, accepted[2].LeadID
	for _, id := range []string{replayed, settled} {
		settle(t, l, settlement(id, lead.StatusPartial, 1, 1))
	}
	if _, err := l.Reopen(ctx, []lead.Run{{LeadID: replayed, Generation: 1}}); err != nil {
		t.Fatal(err)
	}
	refs := []lead.Run{
		{LeadID: live, Generation: 1}, {LeadID: settled, Generation: 1}, {LeadID: "ld_unknown", Generation: 1},
		{LeadID: replayed, Generation: 2}, {LeadID: replayed, Generation: 1}, {LeadID: live, Generation: 1}, {LeadID: settled, Generation: 2},
	}
	want := []bool{false, true, true, false, true, false, false}
	if got, err := l.Settled(ctx, refs); err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got, err := l.Settled(ctx, nil); err != nil || len(got) != 0 {
		t.Errorf("no refs: %v, %v", got, err)
	}
}
