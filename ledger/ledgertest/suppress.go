package ledgertest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

// spellings are addresses of one person, and addresses of others that look alike.
var spellings = []struct {
	name         string
	same, others []string
}{
	{
		"a company's host", []string{"Jane.Doe@Acme.example", "jane.doe+crm@acme.example", "Jane <JANE.DOE+a+b@ACME.EXAMPLE>", "mailto:jane.doe@acme.example."},
		[]string{"janedoe@acme.example", "jane.doe@acme.test", "jane.doe@mail.acme.example"},
	},
	{
		"Gmail", []string{"janedoe@gmail.com", "Jane.Doe@googlemail.com", "j.a.n.e.d.o.e+x@gmail.com"},
		[]string{"janedoe@gmail.example", "jane@gmail.com"},
	},
	{
		"a domain in Unicode", []string{"m@Bücher.example", "M@xn--bcher-kva.example", "m+1@BÜCHER.example", "m@bu\u0308cher.example"},
		[]string{"m@bucher.example"},
	},
	{
		"hosts of one mail service", []string{"jane@icloud.com", "Jane+x@me.com", "jane@mac.com"},
		[]string{"jane@proton.me"},
	},
}

// forget forgets and fails the test on an error.
func forget(t *testing.T, l *ledger.Ledger, email string) ledger.Erased {
	t.Helper()
	e, err := l.Forget(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// take accepts one lead of a source.
func take(t *testing.T, l *ledger.Ledger, ld lead.Lead) ledger.Accepted {
	t.Helper()
	ld, err := lead.Normalize(ld)
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept(t.Context(), []lead.Lead{ld})
	if err != nil {
		t.Fatal(err)
	}
	return accepted[0]
}

func turnsAwayInEverySpelling(t *testing.T, open Opener, _ Text) {
	for _, test := range spellings {
		t.Run(test.name, func(t *testing.T) {
			l := open(t, ledger.Options{})
			forget(t, l, test.same[0])
			check := func(email string, want bool) {
				if got, err := l.IsSuppressed(t.Context(), email); got != want || err != nil {
					t.Errorf("%s is suppressed: %v, %v, want %v", email, got, err, want)
				}
				a := take(t, l, lead.Lead{Source: "crm", SourceID: email, Email: email, Name: "Jane Doe"})
				if a.Suppressed != want || a.Live == want || (a.RequestID == "") != want || a.LeadID == "" || a.Duplicate {
					t.Errorf("%s: %+v, want it turned away: %v", email, a, want)
				}
				put, err := l.PutEntries(t.Context(), []ledger.DirectoryEntry{{Email: email, Profile: lead.Profile{lead.PersonName: "Jane Doe"}}})
				if (put.Suppressed == 1) != want || err != nil {
					t.Errorf("%s: %d entries of the directory were turned away (%v), want it: %v", email, put.Suppressed, err, want)
				}
			}
			for _, email := range test.same {
				check(email, true)
			}
			for _, email := range test.others {
				check(email, false)
			}
		})
	}
}

func turnsAwayWithinABatch(t *testing.T, open Opener, text Text) {
	l := open(t, ledger.Options{})
	before := accept(t, l, 2, 1)[0]
	forget(t, l, makeLead(1).Email)
	if _, err := l.Settle(t.Context(), settlement(before.LeadID, lead.StatusSuppressed, 2, 0)); err != nil {
		t.Fatal(err)
	}
	got, err := l.Accept(t.Context(), []lead.Lead{makeLead(0), makeLead(1), makeLead(2), makeLead(3), makeLead(1)})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range got {
		away := i == 1 || i == 2 || i == 4
		if a.Suppressed != away || a.Live == away {
			t.Errorf("lead %d: %+v", i, a)
		}
	}
	if got[1].LeadID != makeLead(1).ID() || got[1].Lead != (lead.Lead{}) || got[1].RequestID != "" {
		t.Errorf("a lead that is not stored: %+v", got[1])
	}
	if got[2].RequestID != before.RequestID || !got[2].Duplicate || got[2].Lead.Email != "" {
		t.Errorf("a lead that was there: %+v", got[2])
	}
	if alone, err := l.Accept(t.Context(), []lead.Lead{makeLead(1)}); err != nil || !alone[0].Suppressed {
		t.Errorf("a batch that is turned away as a whole: %+v, %v", alone, err)
	}
	c, err := l.Counts(t.Context())
	if err != nil || c.Accepted != 3 || strings.Contains(text(t, l), makeLead(1).Email) {
		t.Errorf("%+v, %v, want nothing of who is turned away", c, err)
	}
}

func asksForAnAddress(t *testing.T, open Opener, _ Text) {
	l, ctx := open(t, ledger.Options{}), t.Context()
	for _, address := range []string{"", "Jane Doe", "jane@", "jane@nowhere"} {
		_, isErr := l.IsSuppressed(ctx, address)
		_, personErr := l.LeadsOf(ctx, address)
		_, forgetErr := l.Forget(ctx, address)
		for call, err := range map[string]error{"IsSuppressed": isErr, "Person": personErr, "Forget": forgetErr} {
			var field *lead.FieldError
			if !errors.As(err, &field) || ledger.IsAway(err) || strings.Contains(strings.ToLower(err.Error()), "jane") {
				t.Errorf("%s(%q): %v, want an error about the address that does not quote it", call, address, err)
			}
		}
	}
}

// settlesTheSuppressed settles leads in the ways by which it can turn out that
// their person asked not to be processed.
func settlesTheSuppressed(t *testing.T, open Opener, text Text) {
	const own, found, third = "jane.doe@acme.example", "j.doe@acme.example", "jd@acme.example"
	for _, test := range []struct {
		name   string
		status lead.Status
		forget string // while the lead is under way
		reason string
	}{
		{"a provider says so", lead.StatusSuppressed, "", "told by a provider"},
		{"the person asked meanwhile", lead.StatusEnriched, own, ""}, // the lead is gone then
		{"a found address is of somebody who asked", lead.StatusEnriched, found, ledger.ReasonSuppressed},
		{"a provider says so of somebody who asked", lead.StatusSuppressed, found, "told by a provider"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClock()
			l := open(t, ledger.Options{Now: c.now})
			a := take(t, l, lead.Lead{Source: "crm", SourceID: "7", Email: own, Name: "Jane Roe-Doe"})
			if _, err := l.PutEntries(t.Context(), []ledger.DirectoryEntry{{Email: "jane.doe+dir@acme.example", Profile: lead.Profile{lead.PersonName: "Jane Roe-Doe"}}}); err != nil {
				t.Fatal(err)
			}
			call := entry(1, "first", lead.At(c.now()))
			call.Credits, call.Conflicts = 1.5, map[lead.Field]string{lead.PersonName: "Jane Roe-Doe"}
			version := record(t, l, ledger.Attempt{LeadID: a.LeadID, Generation: 1, Version: 1, Progress: []byte(own), Trail: []lead.TrailEntry{call}})
			if test.forget != "" {
				forget(t, l, test.forget)
			}
			s := settlement(a.LeadID, test.status, 0, 2)
			s.Facts.Merge(lead.Profile{lead.PersonEmail: " J.Doe+work@ACME.example", lead.PersonName: "Jane Roe-Doe"}, lead.Origin{Provider: "hunter"}, nil)
			s.Version, s.Reason, s.Found = version, "told by a provider", []string{third}
			call.Detail = "second"
			s.Trail = []lead.TrailEntry{call}
			got, err := l.Settle(t.Context(), s)
			if test.forget == own {
				if !errors.Is(err, ledger.ErrNotFound) {
					t.Errorf("got %+v, %v, want ErrNotFound", got, err)
				}
				return
			}
			if want := (ledger.Settled{Applied: true, First: true, Status: lead.StatusSuppressed}); err != nil || !cmp.Equal(got, want) {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
			want := lead.Outcome{
				LeadID: a.LeadID, RequestID: a.RequestID, Source: "crm", SourceID: "7", Status: lead.StatusSuppressed, Reason: test.reason,
				Profile: lead.Profile{}, Missing: []lead.Field{}, Provenance: map[lead.Field]lead.Origin{}, Credits: map[string]float64{"clearbit": 3},
				AcceptedAt: lead.At(c.now()), SettledAt: lead.At(c.now()), Trail: []lead.TrailEntry{entry(1, "first", lead.At(c.now())), entry(1, "second", lead.At(c.now()))},
			}
			want.Trail[0].Credits, want.Trail[1].Credits = 1.5, 1.5
			if diff := cmp.Diff(want, outcome(t, l, a.LeadID)); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			for _, email := range []string{own, found} {
				if is, err := l.IsSuppressed(t.Context(), email); !is || err != nil {
					t.Errorf("%s is suppressed: %v, %v", email, is, err)
				}
			}
			if suppressed(t, l, third) != (test.status == lead.StatusSuppressed) {
				t.Error("who is named is remembered when a provider says so, and only then")
			}
			refuses(t, l, a.LeadID)
			nothingOf(t, text(t, l), "acme.example", "Roe-Doe")
		})
	}
}

// refuses checks that a suppressed lead stays as it is.
func refuses(t *testing.T, l *ledger.Ledger, id string) {
	t.Helper()
	before := get(t, l, id)
	if !before.Suppressed {
		t.Errorf("%+v does not say that the person is suppressed", before)
	}
	if refs, err := l.Reopen(t.Context(), []lead.Run{{LeadID: id, Generation: before.Generation}}); err != nil || len(refs) != 0 {
		t.Errorf("it was reopened: %v, %v", refs, err)
	}
	record(t, l, ledger.Attempt{LeadID: id, Generation: before.Generation, Progress: []byte("jane.doe@acme.example")})
	better := settlement(id, lead.StatusEnriched, 9, 0)
	better.Generation = before.Generation
	if got := settle(t, l, better); got.Status != lead.StatusSuppressed {
		t.Errorf("it was settled as %+v", got)
	}
	after := get(t, l, id)
	if len(after.Progress) != 0 || after.Status != lead.StatusSuppressed || after.Lead != before.Lead {
		t.Errorf("before: %+v, after: %+v", before, after)
	}
}

func nothingOf(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if i := strings.Index(strings.ToLower(text), strings.ToLower(w)); i >= 0 {
			t.Errorf("the ledger still holds %q: …%s…", w, text[max(0, i-200):min(len(text), i+100)])
		}
	}
}
