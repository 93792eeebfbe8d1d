package ledgertest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

func forgets(t *testing.T, open Opener, _ Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	for _, test := range spellings {
		t.Run(test.name, func(t *testing.T) {
			var want []string
			for _, emails := range [][]string{test.same, test.others} {
				for _, email := range emails {
					a := take(t, l, lead.Lead{Source: "crm", SourceID: email[:2], Email: email, Name: "Zoë Roe-Doe", Company: "Doe & Co"})
					if a.Duplicate { // of two spellings with one source ID
						continue
					}
					want = append(want, a.LeadID)
				}
			}
			records, err := l.LeadsOf(t.Context(), test.same[1])
			if err != nil || len(records) == 0 {
				t.Fatalf("found %d leads, %v", len(records), err)
			}
			e := forget(t, l, test.same[1])
			if diff := cmp.Diff(records, e.Records); diff != "" || e.Leads != len(records) {
				t.Errorf("got %+v, want the leads that were found before", e)
			}
			for _, id := range want {
				_, err := l.Get(t.Context(), id)
				gone := false
				for _, r := range records {
					gone = gone || r.LeadID == id
				}
				if errors.Is(err, ledger.ErrNotFound) != gone {
					t.Errorf("lead %s, which is to be gone: %v: %v", id, gone, err)
				}
			}
			if records, err = l.LeadsOf(t.Context(), test.same[0]); err != nil || len(records) != 0 {
				t.Errorf("still found: %v, %v", records, err)
			}
		})
	}
}

// forgetsAll erases a person of whom the ledger has something everywhere.
func forgetsAll(t *testing.T, open Opener, text Text) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	const email = "jane.doe@acme.example"
	neighbour := take(t, l, lead.Lead{Email: "bo@acme.test", Name: "Bo"})
	settle(t, l, settlement(neighbour.LeadID, lead.StatusPartial, 1, 1))
	before := text(t, l)

	settled := take(t, l, lead.Lead{Source: "crm", SourceID: "1", Email: "Jane.Doe+a@acme.example", Name: "Jane Roe-Doe"})
	replayed := take(t, l, lead.Lead{Source: "crm", SourceID: "2", Name: "Jane Roe-Doe", Company: "Acme"})
	live := take(t, l, lead.Lead{Email: email, Name: "Jane Roe-Doe"})
	call := entry(1, "call", lead.At(c.now()))
	call.Credits, call.Conflicts = 2, map[lead.Field]string{lead.PersonEmail: email}
	for _, a := range []ledger.Accepted{settled, replayed} {
		s := settlement(a.LeadID, lead.StatusPartial, 0, 1)
		s.Facts.Merge(lead.Profile{lead.PersonEmail: "JANE.DOE@acme.example"}, lead.Origin{Provider: "hunter"}, nil)
		s.Trail = []lead.TrailEntry{call, call}
		settle(t, l, s)
	}
	if _, err := l.Reopen(t.Context(), []lead.Run{{LeadID: replayed.LeadID, Generation: 1}}); err != nil {
		t.Fatal(err)
	}
	record(t, l, ledger.Attempt{LeadID: live.LeadID, Generation: 1, Version: 1, Progress: []byte(email), Trail: []lead.TrailEntry{call}})
	if _, err := l.PutEntries(t.Context(), []ledger.DirectoryEntry{{Email: email}, {Email: "jane.doe+2@acme.example"}, {Email: "bo@acme.test"}}); err != nil {
		t.Fatal(err)
	}

	e := forget(t, l, "Jane <jane.doe+other@ACME.example>")
	generations := map[string]int{}
	for _, r := range e.Records {
		generations[r.LeadID] = r.Generation
	}
	if want := map[string]int{settled.LeadID: 1, replayed.LeadID: 2, live.LeadID: 1}; !cmp.Equal(generations, want) {
		t.Errorf("records of %v, want %v", generations, want)
	}
	e.Records = nil
	if want := (ledger.Erased{Leads: 3, Outcomes: 2, TrailEntries: 5, People: 2}); !cmp.Equal(e, want) {
		t.Errorf("got %+v, want %+v", e, want)
	}
	after := text(t, l)
	nothingOf(t, after, "jane", "roe-doe", "acme.example", settled.LeadID, live.LeadID)
	if got := outcome(t, l, neighbour.LeadID); got.Status != lead.StatusPartial || before == after {
		t.Errorf("the neighbour: %+v", got)
	}
	if got := spent(t, l, "clearbit", c.now()); got != 10 {
		t.Errorf("spent %v, want what was spent before", got)
	}

	if again := forget(t, l, email); !cmp.Equal(again, ledger.Erased{}) {
		t.Errorf("the second time: %+v", again)
	}
	if _, err := l.SaveAttempt(t.Context(), ledger.Attempt{LeadID: live.LeadID, Generation: 1, Version: 2, Progress: []byte(email)}); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("the record of a run that was under way: %v", err)
	}
	if _, err := l.Settle(t.Context(), settlement(live.LeadID, lead.StatusSuppressed, 0, 0)); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("the settlement of a run that was under way: %v", err)
	}
	if got, err := l.Settled(t.Context(), []lead.Run{{LeadID: live.LeadID, Generation: 1}}); err != nil || !got[0] {
		t.Errorf("something is owed to a lead that is gone: %v, %v", got, err)
	}
}

// forgetsWhileOthersWrite forgets a person while their leads come in and are settled.
func forgetsWhileOthersWrite(t *testing.T, open Opener, text Text) {
	l := open(t, ledger.Options{})
	const writers, each = 6, 15
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for w := range writers {
		wg.Go(func() {
			<-begin
			for i := range each {
				if err := acceptAndSettle(t, l, fmt.Sprint(w, "-", i), known(w%3)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		<-begin
		for range 3 {
			if _, err := l.Forget(t.Context(), "jane.doe@acme.example"); err != nil {
				t.Error(err)
			}
		}
	})
	close(begin)
	wg.Wait()
	nothingOf(t, text(t, l), "jane.doe")
}

// known is how the ledger can know that a lead names Jane Doe.
type known int

const (
	byItsAddress known = iota
	byWhatIsFound
	byWhatIsNamed // and not taken: it is somebody else's lead
)

// acceptAndSettle takes in a lead that names Jane Doe, records an attempt, and settles
// it.
func acceptAndSettle(t *testing.T, l *ledger.Ledger, id string, k known) error {
	ld := lead.Lead{Source: "crm", SourceID: id, Name: "J. D.", Domain: "d" + id + ".example"}
	if k == byItsAddress {
		ld.Email = "jane.doe+" + id + "@acme.example"
	}
	accepted, err := l.Accept(t.Context(), []lead.Lead{ld})
	if err != nil || accepted[0].Suppressed {
		return err
	}
	s := settlement(accepted[0].LeadID, lead.StatusPartial, 0, 1)
	call := entry(1, "call", lead.Time{})
	if k == byWhatIsNamed {
		call.Conflicts = map[lead.Field]string{lead.PersonEmail: janes}
	} else {
		s.Facts.Merge(lead.Profile{lead.PersonEmail: janes}, lead.Origin{Provider: "hunter"}, nil)
	}
	a := ledger.Attempt{
		LeadID: s.LeadID, Generation: 1, Version: 1, Progress: []byte(janes), Found: []string{janes}, Trail: []lead.TrailEntry{call},
	}
	if s.Version, err = l.SaveAttempt(t.Context(), a); err == nil {
		_, err = l.Settle(t.Context(), s)
	}
	if !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	return nil
}

// suppressesWhileOthersWrite is the same for a person of whom a provider says so.
func suppressesWhileOthersWrite(t *testing.T, open Opener, text Text) {
	l := open(t, ledger.Options{})
	told := take(t, l, lead.Lead{Source: "crm", SourceID: "told", Email: "jane.doe@acme.example"})
	const writers, each = 6, 15
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := acceptAndSettle(t, l, fmt.Sprint(w, "-", i), known(w%3)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		if _, err := l.Settle(t.Context(), settlement(told.LeadID, lead.StatusSuppressed, 0, 0)); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	nothingOf(t, text(t, l), "jane.doe")
	c, err := l.Counts(t.Context())
	const named = int64(writers / 3 * each)
	if err != nil || c.Settled[lead.StatusPartial] != named || c.Accepted != c.Settled[lead.StatusSuppressed]+named || c.Live != 0 {
		t.Errorf("%+v, %v, want all that are hers settled as suppressed, and those of others as they were", c, err)
	}
}
