package ledgertest

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

const (
	janes  = "jane.doe@acme.example"
	secret = "Roe-Doe" // in what an answer says about Jane
)

// conflicting is a call whose answer named Jane, and was not taken.
func conflicting(attempt int, c *clock) lead.TrailEntry {
	e := entry(attempt, "call", lead.At(c.now()))
	e.Conflicts = map[lead.Field]string{lead.PersonEmail: janes, lead.PersonName: "Jane " + secret}
	return e
}

// suppressed reports whether the person with an address is, and fails the test on an
// error.
func suppressed(t *testing.T, l *ledger.Ledger, email string) bool {
	t.Helper()
	is, err := l.IsSuppressed(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// ofPerson lists the leads of a person, and fails the test on an error.
func ofPerson(t *testing.T, l *ledger.Ledger, email string) (ids []string) {
	t.Helper()
	all, err := l.LeadsOf(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		ids = append(ids, r.LeadID)
	}
	return ids
}

// suppressesWhoWasFound has a provider say of somebody, whose lead has no address, that
// they asked not to be processed: of the addresses that were found for the lead.
func suppressesWhoWasFound(t *testing.T, open Opener, text Text) {
	for _, test := range []struct {
		name                    string
		status                  lead.Status
		recorded, stale, wanted bool
	}{
		{"when it is settled", lead.StatusSuppressed, false, false, true},
		{"named in an earlier attempt, too", lead.StatusSuppressed, true, false, true},
		{"by a run that was overtaken", lead.StatusSuppressed, false, true, true},
		{"not if nobody said so", lead.StatusPartial, true, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClock()
			l := open(t, ledger.Options{Now: c.now})
			told := take(t, l, lead.Lead{Source: "crm", SourceID: "told", Name: "Jane Roe-Doe", Company: "Acme"}).LeadID
			came := take(t, l, lead.Lead{Source: "crm", SourceID: "came", Email: "jane.doe+1@acme.example", Name: "J. Roe-Doe"}).LeadID
			found := take(t, l, lead.Lead{Source: "crm", SourceID: "found", Name: "J. R. Roe-Doe", Company: "Acme Ltd"}).LeadID
			other := take(t, l, lead.Lead{Source: "crm", SourceID: "other", Email: "jane.roe@acme.example", Name: "Jane Roe"}).LeadID
			s := settlement(found, lead.StatusPartial, 0, 1)
			s.Facts.Merge(lead.Profile{lead.PersonEmail: "j@acme.example"}, lead.Origin{Provider: "hunter"}, nil)
			settle(t, l, s)
			before := records(t, l, came, found)

			s = settlement(told, test.status, 0, 1)
			s.Found = []string{" Jane.Doe+x@ACME.example", "no address", "", "j@acme.example", janes}
			s.Version = 1
			if test.recorded {
				s.Version = record(t, l, ledger.Attempt{LeadID: told, Generation: 1, Version: 1, Found: s.Found[:2], Progress: []byte(janes)})
			}
			if test.stale {
				record(t, l, ledger.Attempt{LeadID: told, Generation: 1, Version: 1})
			}
			got, err := l.Settle(t.Context(), s)
			if errors.Is(err, ledger.ErrStale) != test.stale || err != nil && !test.stale {
				t.Fatal(err)
			}
			if !test.wanted {
				if suppressed(t, l, janes) || len(got.Others) != 0 || !cmp.Equal(before, records(t, l, came, found)) {
					t.Errorf("it was: %+v", got)
				}
				return
			}
			if !cmp.Equal(got.Others, before) {
				t.Errorf("others (-want +got):\n%s", cmp.Diff(before, got.Others))
			}
			if !suppressed(t, l, janes) || !suppressed(t, l, "j@acme.example") || suppressed(t, l, "jane.roe@acme.example") {
				t.Error("not those are remembered who were named")
			}
			if same := samePerson(t, l, told); !cmp.Equal(same, without([]string{came, found}, "")) {
				t.Errorf("the retry of the clean-up looks at %v", same)
			}
			for _, r := range records(t, l, told, came, found) {
				if !r.Suppressed || r.Lead.Name != "" {
					t.Errorf("%+v", r)
				}
			}
			if r := get(t, l, other); r.Suppressed || r.Lead.Name != "Jane Roe" {
				t.Errorf("somebody else's lead: %+v", r)
			}
			nothingOf(t, text(t, l), janes, secret, "j@acme")
		})
	}
}

// forgetsWhoWasOnlyMentioned forgets somebody whose address no lead has.
func forgetsWhoWasOnlyMentioned(t *testing.T, open Opener, text Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	live := take(t, l, lead.Lead{Source: "crm", SourceID: "live", Name: "Jane Doe", Company: "Acme"}).LeadID
	settled := take(t, l, lead.Lead{Source: "crm", SourceID: "settled", Email: "bo@acme.test", Name: "Bo"}).LeadID
	alike := take(t, l, lead.Lead{Source: "crm", SourceID: "alike", Name: "Jane Doe", Company: "Acme"}).LeadID
	neighbour := take(t, l, lead.Lead{Source: "crm", SourceID: "neighbour", Email: "cy@acme.test", Name: "Cy"}).LeadID
	a := ledger.Attempt{LeadID: live, Generation: 1, Version: 1, Progress: []byte("invalid: " + janes), Found: []string{janes, "cy@acme.test"}}
	for range 2 {
		if version := record(t, l, a); version != 2 {
			t.Errorf("version %d", version)
		}
	}
	late := a
	late.Version, late.Trail, late.Found = 1, []lead.TrailEntry{conflicting(1, c)}, []string{"dee@acme.test"}
	if _, err := l.SaveAttempt(t.Context(), late); !errors.Is(err, ledger.ErrStale) {
		t.Fatal(err)
	}
	s := settlement(settled, lead.StatusPartial, 0, 1)
	s.Trail, s.Found = []lead.TrailEntry{conflicting(1, c)}, []string{"bo@acme.test", "Jane.Doe+2@acme.example"}
	settle(t, l, s)
	settle(t, l, settlement(neighbour, lead.StatusPartial, 1, 1))

	if got := ofPerson(t, l, "dee@acme.test"); !cmp.Equal(got, without([]string{live, alike}, "")) {
		t.Errorf("by what a run that was overtaken has left: %v", got)
	}
	all := without([]string{live, settled, alike}, "")
	if got := ofPerson(t, l, "JANE.doe+3@acme.example"); !cmp.Equal(got, all) {
		t.Errorf("found %v, want %v", got, all)
	}
	e := forget(t, l, janes)
	var gone []string
	for _, r := range e.Records {
		gone = append(gone, r.LeadID)
	}
	if !cmp.Equal(gone, all) || e.Leads != 3 || e.Outcomes != 1 || e.TrailEntries != 2 {
		t.Errorf("got %+v, want %v", e, all)
	}
	nothingOf(t, text(t, l), "jane", secret, "bo@", live, settled, alike)
	if again := take(t, l, lead.Lead{Source: "crm", SourceID: "again", Name: "Jane Doe", Company: "Acme"}); !again.Suppressed {
		t.Errorf("she came back by name: %+v", again)
	}
	if suppressed(t, l, "bo@acme.test") || suppressed(t, l, "cy@acme.test") {
		t.Error("somebody else is suppressed because of what a provider named for them")
	}
	if r := get(t, l, neighbour); r.Suppressed || r.Status != lead.StatusPartial {
		t.Errorf("the neighbour: %+v", r)
	}
}

// redactsWhoWasOnlyMentioned suppresses somebody whose address was named for the leads of
// others: what names them there goes, and the outcomes stay.
func redactsWhoWasOnlyMentioned(t *testing.T, open Opener, text Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	told := take(t, l, lead.Lead{Source: "crm", SourceID: "told", Email: janes}).LeadID
	var ids []string
	versions := map[string]int64{}
	for _, email := range []string{"settled@acme.test", "live@acme.test", "late@acme.test"} {
		id := take(t, l, lead.Lead{Source: "crm", SourceID: email, Email: email, Name: "Bo"}).LeadID
		ids, versions[id] = append(ids, id), 1
	}
	settled, live, late := ids[0], ids[1], ids[2]
	named := func(id string) ledger.Attempt {
		return ledger.Attempt{
			LeadID: id, Generation: 1, Version: versions[id], Progress: []byte("invalid: " + janes),
			Trail: []lead.TrailEntry{conflicting(int(versions[id]), c)}, Found: []string{janes},
		}
	}
	ends := func(id string) ledger.Settlement {
		s := settlement(id, lead.StatusEnriched, 1, 0)
		s.Version = versions[id]
		return s
	}
	versions[settled] = record(t, l, named(settled))
	settle(t, l, ends(settled))
	before := outcome(t, l, settled)
	versions[live] = record(t, l, named(live))

	if got := settle(t, l, settlement(told, lead.StatusSuppressed, 0, 0)); len(got.Others) != 0 {
		t.Errorf("others: %+v", got.Others)
	}
	after := outcome(t, l, settled)
	before.Trail[0].Conflicts = nil
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the outcome of somebody else (-want +got):\n%s", diff)
	}
	if r := get(t, l, settled); r.Suppressed || len(r.Progress) != 0 || r.Lead.Name != "Bo" {
		t.Errorf("the lead of somebody else: %+v", r)
	}
	if r := get(t, l, live); r.Suppressed || string(r.Progress) != "invalid: "+janes {
		t.Errorf("a run that is under way needs its progress: %+v", r)
	}
	// The runs go on, one that has named her before and one that does so now.
	for _, id := range []string{live, late} {
		versions[id] = record(t, l, named(id))
		if r := get(t, l, id); string(r.Progress) != "invalid: "+janes {
			t.Errorf("a run that is under way needs its progress: %+v", r)
		}
		s := ends(id)
		s.Trail = []lead.TrailEntry{conflicting(9, c)}
		if id == late {
			s.Found = []string{janes}
		}
		if got := settle(t, l, s); !got.Applied || got.Status != lead.StatusEnriched || len(got.Others) != 0 {
			t.Errorf("got %+v", got)
		}
		if r := get(t, l, id); r.Suppressed || r.Progress != nil || r.Lead.Name != "Bo" {
			t.Errorf("the lead of somebody else: %+v", r)
		}
	}
	if o := outcome(t, l, live); len(o.Trail) != 3 {
		t.Errorf("trail %v", details(o.Trail))
	}
	nothingOf(t, text(t, l), "jane", secret)
	if got := ofPerson(t, l, janes); !cmp.Equal(got, without(append(slices.Clone(ids), told), "")) {
		t.Errorf("found %v", got)
	}
}

// keepsAwayByName forgets and suppresses by address somebody whose leads have a name
// only.
func keepsAwayByName(t *testing.T, open Opener, text Text) {
	for _, test := range []struct {
		name  string
		erase func(t *testing.T, l *ledger.Ledger, told string)
		gone  bool
	}{
		{"forgotten", func(t *testing.T, l *ledger.Ledger, _ string) { forget(t, l, janes) }, true},
		{"suppressed", func(t *testing.T, l *ledger.Ledger, told string) {
			settle(t, l, settlement(told, lead.StatusSuppressed, 0, 0))
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := open(t, ledger.Options{})
			byName := func(id, name, company string) lead.Lead {
				return lead.Lead{Source: "crm", SourceID: id, Name: name, Company: company}
			}
			told := take(t, l, lead.Lead{Source: "crm", SourceID: "told", Email: janes}).LeadID
			found := take(t, l, byName("found", "Jane Roe-Doe", "Acme")).LeadID
			alike := take(t, l, byName("alike", "jane roe-doe", "ACME")).LeadID
			office := take(t, l, lead.Lead{Source: "crm", SourceID: "office", Email: "info@acme.example", Name: "Jane Roe-Doe"}).LeadID
			private := take(t, l, lead.Lead{Source: "crm", SourceID: "private", Email: "jane@home.example", Name: "Jane Roe-Doe"}).LeadID
			colleague := take(t, l, lead.Lead{Source: "crm", SourceID: "colleague", Email: "info@acme.example", Name: "Bo"}).LeadID
			for _, id := range []string{found, office, private} {
				s := settlement(id, lead.StatusPartial, 0, 1)
				s.Facts.Merge(lead.Profile{lead.PersonEmail: janes}, lead.Origin{Provider: "hunter"}, nil)
				settle(t, l, s)
			}
			settle(t, l, settlement(alike, lead.StatusPartial, 0, 1))
			for range 2 { // once more, it reaches no further
				test.erase(t, l, told)
			}
			hers := without([]string{found, alike, office, private}, "")
			if same := samePerson(t, l, told); !test.gone && !cmp.Equal(same, hers) || test.gone && len(same) != 0 {
				t.Errorf("the retry of the clean-up looks at %v", same)
			}
			for _, id := range hers {
				r, err := l.Get(t.Context(), id)
				if errors.Is(err, ledger.ErrNotFound) != test.gone || err == nil && (!r.Suppressed || r.Status != lead.StatusSuppressed) {
					t.Errorf("%+v, %v", r, err)
				}
			}
			for i, ld := range []lead.Lead{byName("a", "Jane Roe-Doe", "Acme"), byName("b", "ROE-DOE, Jane", "ACME"), {Email: "jane+x@home.example"}} {
				if a := take(t, l, ld); !a.Suppressed {
					t.Errorf("%d: she came back: %+v", i, a)
				}
			}
			nothingOf(t, text(t, l), secret, janes, "home.example")
			for i, ld := range []lead.Lead{byName("c", "Jane Roe-Doe", "Other"), byName("d", "Jane Roe-Doe", ""), {Email: "info@acme.example"}} {
				if a := take(t, l, ld); a.Suppressed {
					t.Errorf("%d: somebody else is turned away: %+v", i, a)
				}
			}
			if r := get(t, l, colleague); r.Suppressed || r.Lead.Name != "Bo" {
				t.Errorf("who shares an office's address: %+v", r)
			}
		})
	}
}
