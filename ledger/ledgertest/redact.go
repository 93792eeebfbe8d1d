package ledgertest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

// records reads leads, in the order of their IDs, and fails the test on an error.
func records(t *testing.T, l *ledger.Ledger, ids ...string) []ledger.Record {
	t.Helper()
	all, err := l.Records(t.Context(), ids)
	if err != nil || len(all) != len(ids) {
		t.Fatal(len(all), err)
	}
	return all
}

// samePerson lists the other leads of a lead's person, in the order of their IDs.
func samePerson(t *testing.T, l *ledger.Ledger, id string) (ids []string) {
	t.Helper()
	refs, err := l.SamePerson(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range refs {
		if want := get(t, l, r.LeadID).Generation; r.Generation != want {
			t.Errorf("%+v is of generation %d", r, want)
		}
		ids = append(ids, r.LeadID)
	}
	return ids
}

// without is a sorted list of the IDs but for one.
func without(ids []string, id string) []string {
	return slices.DeleteFunc(slices.Sorted(slices.Values(ids)), func(other string) bool { return other == id })
}

// redactsTheOtherLeads suppresses a person who has leads in every state.
func redactsTheOtherLeads(t *testing.T, open Opener, text Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	var ids []string
	for i, ld := range []lead.Lead{
		{Email: "jane.doe@acme.example"},
		{Email: "jane.doe+live@acme.example"},
		{Email: "Jane.Doe+settled@acme.example"},
		{Email: "jane.doe+replayed@acme.example"},
		{Company: "Acme"}, // the address is found
		{Email: "roe@acme.test"},
	} {
		ld.Source, ld.SourceID, ld.Name = "crm", string(rune('a'+i)), "Jane Roe-Doe"
		ids = append(ids, take(t, l, ld).LeadID)
	}
	for _, i := range []int{2, 3, 4, 5} {
		s := settlement(ids[i], lead.StatusPartial, 0, 3)
		s.Facts.Merge(lead.Profile{lead.PersonName: "Jane Roe-Doe"}, lead.Origin{Provider: "hunter"}, nil)
		if i == 4 {
			s.Facts.Merge(lead.Profile{lead.PersonEmail: "jane.doe+found@acme.example"}, lead.Origin{Provider: "hunter"}, nil)
		}
		e := entry(1, "call", lead.At(c.now()))
		e.Conflicts = map[lead.Field]string{lead.PersonName: "Jane Roe-Doe"}
		s.Trail = []lead.TrailEntry{e}
		settle(t, l, s)
	}
	if _, err := l.Reopen(t.Context(), []lead.Run{{LeadID: ids[3], Generation: 1}}); err != nil {
		t.Fatal(err)
	}
	live := record(t, l, ledger.Attempt{LeadID: ids[1], Generation: 1, Version: 1, Progress: []byte("jane.doe@acme.example")})
	at := c.advance(time.Hour)

	others := records(t, l, ids[1:5]...)
	if got := settle(t, l, settlement(ids[0], lead.StatusSuppressed, 0, 0)); !cmp.Equal(got.Others, others) {
		t.Errorf("others as they stood (-want +got):\n%s", cmp.Diff(others, got.Others))
	}
	again := settle(t, l, settlement(ids[0], lead.StatusSuppressed, 0, 0))
	if redacted := records(t, l, ids[1:5]...); again.Applied || !cmp.Equal(again.Others, redacted) {
		t.Errorf("the repetition says %+v", again)
	}
	for _, i := range []int{0, 4} { // by the address it came with, and by the one that was found
		if got, want := samePerson(t, l, ids[i]), without(ids[:5], ids[i]); !cmp.Equal(got, want) {
			t.Errorf("beside lead %d there are %v, want %v", i, got, want)
		}
	}
	for _, i := range []int{1, 2, 3, 4} {
		r := get(t, l, ids[i])
		if !r.Suppressed || r.Live() != (i == 1 || i == 3) || r.Lead != (lead.Lead{Source: "crm", SourceID: string(rune('a' + i))}) || r.Progress != nil {
			t.Errorf("lead %d: %+v", i, r)
		}
		if settled := i != 1; settled && (r.Status != lead.StatusSuppressed || r.SettledAt != at || outcome(t, l, ids[i]).Reason != ledger.ReasonSuppressed) {
			t.Errorf("lead %d: %s of %v", i, r.Status, r.SettledAt)
		}
	}
	if r := get(t, l, ids[5]); r.Suppressed || r.Status != lead.StatusPartial || r.Lead.Name != "Jane Roe-Doe" {
		t.Errorf("somebody else's lead: %+v", r)
	}
	// The run of the live one goes on, and leaves nothing.
	s := settlement(ids[1], lead.StatusEnriched, 3, 0)
	s.Version = record(t, l, ledger.Attempt{LeadID: ids[1], Generation: 1, Version: live, Progress: []byte("jane.doe@acme.example")})
	if got := settle(t, l, s); !got.Applied || got.Status != lead.StatusSuppressed {
		t.Errorf("the live one: %+v", got)
	}
	for _, id := range ids[:3] {
		refuses(t, l, id)
	}
	nothingOf(t, text(t, l), "jane.doe")
}
