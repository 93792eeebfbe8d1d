package lead

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsWorthAskingFor(t *testing.T) {
	want := []Field{PersonEmail, PersonTitle}
	withState := []Field{PersonEmail, PersonEmailStatus}
	found := func(state string) Facts {
		f, _ := merged(by("finder", 0, clean(Profile{PersonEmail: "x@acme.com", PersonEmailStatus: state, PersonTitle: "CTO"})))
		return f
	}
	own, _ := merged(source(Profile{PersonEmail: "x@acme.com"}))
	for _, tt := range []struct {
		name  string
		facts Facts
		want  []Field
		open  []Field
	}{
		{"all that is missing", Facts{}, want, want},
		{"nothing that is not wanted", Facts{}, nil, []Field{}},
		{"nothing of a verified address", found("valid"), want, []Field{}},
		{"the state of a found address", found(""), want, []Field{PersonEmailStatus}},
		{"the state once, where it is wanted too", found(""), withState, []Field{PersonEmailStatus}},
		{"another address in place of an uncertain one", found("accept_all"), want, []Field{PersonEmail}},
		{"another look and another address where nothing was found out", found("unknown"), want, []Field{PersonEmailStatus, PersonEmail}},
		{"no state where the address is not wanted", found(""), []Field{PersonTitle}, []Field{}},
		{"nothing of the address that the lead came with", own, []Field{PersonEmail}, []Field{}},
		{"its state where that is wanted", own, withState, []Field{PersonEmailStatus}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.open, tt.facts.Open(tt.want)); diff != "" {
				t.Errorf("open (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALeadIsAskedAboutByWhatIsKnown(t *testing.T) {
	l := Lead{Source: "crm", SourceID: "7", Name: "Ann Roe", Title: "CTO", Email: "old@acme.com"}
	f, _ := merged(source(l.Profile()))
	if diff := cmp.Diff(l, f.Known(l)); diff != "" {
		t.Errorf("what the lead came with: %s", diff)
	}
	f.Merge(Profile{
		PersonName: "Ann M. Roe", PersonGivenName: "Ann", PersonFamilyName: "Roe", PersonLinkedIn: "linkedin.com/in/ann", PersonPhone: "+1",
		PersonLocation: "Rome", CompanyName: "Acme", CompanyDomain: "acme.com", CompanyIndustry: "steel",
	}, Origin{Provider: "a"}, nil)
	want := l
	want.GivenName, want.FamilyName, want.LinkedIn, want.Phone, want.Location = "Ann", "Roe", "linkedin.com/in/ann", "+1", "Rome"
	want.Company, want.Domain = "Acme", "acme.com"
	if diff := cmp.Diff(want, f.Known(l)); diff != "" {
		t.Errorf("what a provider added (-want +got):\n%s", diff)
	}
	// A state that a verifier says is that of the address it was asked about.
	f.Merge(Profile{PersonEmail: "new@acme.com", PersonEmailStatus: EmailValid}, Origin{Provider: "b"}, []Field{PersonEmail})
	if got := f.Known(l).Email; got != "new@acme.com" {
		t.Errorf("it is asked about by %s, but %s is known", got, f.Profile[PersonEmail])
	}
	if got := (Facts{}).Known(l); got != l {
		t.Errorf("without facts it is %+v", got)
	}
}

func TestADomainIsInferredLast(t *testing.T) {
	l := Lead{Email: "ann@acme.com"}
	f, _ := merged(source(l.Profile()))
	f.Infer(l)
	if f.Profile[CompanyDomain] != "acme.com" || f.Provenance[CompanyDomain].Provider != OriginInferred {
		t.Errorf("inferred %+v", f)
	}
	f, _ = merged(source(l.Profile()), by("a", 0, Profile{CompanyDomain: "beta.example", CompanyName: "Beta", PersonTitle: "VP"}))
	before := f.Clone()
	f.Infer(l)
	if diff := cmp.Diff(before, f.Clone()); diff != "" {
		t.Errorf("what was stated is changed by what is inferred: %s", diff)
	}
}

func TestFactsAreTheSameAfterJSON(t *testing.T) {
	want, _ := merged(by("a", 2024, Profile{PersonEmail: "x@acme.com", PersonEmailStatus: EmailInvalid, PersonTitle: "CTO"}).sure(0.5))
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Facts
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got.Invalid) != 1 {
		t.Errorf("%s: %s", b, diff)
	}
	c := got.Clone()
	c.Merge(Profile{PersonEmail: "x@acme.com", PersonEmailStatus: EmailValid}, Origin{Provider: "b"}, nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a clone shares with its original: %s", diff)
	}
}
