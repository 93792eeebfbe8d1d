package vendors

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
)

// combinedOf reads a person and a company as they stand in an answer.
func combinedOf(t *testing.T, l lead.Lead, want []lead.Field, person, company string) providers.Answer {
	t.Helper()
	doc, bad := httpjson.Reply{Status: 200, Body: []byte(`{"person":` + person + `,"company":` + company + `}`)}.JSON()
	if bad != "" {
		t.Fatal(bad)
	}
	v := newVendor(httpjson.Options{Want: want, Now: func() time.Time { return noon }}, "https://api.example")
	a := v.combined(profile.Question{Lead: l}, doc.At("person"), doc.At("company"))
	return a
}

func TestEveryFieldOfTheCommonProfile(t *testing.T) {
	person := `{"name":{"fullName":"José  Álvarez\u0000","givenName":"José","familyName":"Álvarez"},"email":"Jose.Alvarez@ACME.example",
		"employment":{"title":"CTO","role":"engineering","seniority":"executive","name":"Other","domain":"other.example"},
		"linkedin":{"handle":"in/josea"},"geo":{"city":"Porto","state":null,"country":"Portugal"},"phone":"+1 555-555-0100",
		"indexedAt":"2025-06-01T00:00:00.000Z","unknown":[{}]}`
	company := `{"name":"Acme","domain":"https://www.Acme.example/about","category":{"industry":"Machinery"},"metrics":{"employees":120,"employeesRange":"51-250"},
		"location":"1 Main St, Porto","phone":"+1 555-555-0199","linkedin":{"handle":"company/acme"},"indexedAt":"2025-05-01"}`
	a := combinedOf(t, lead.Lead{Email: "jose.alvarez@acme.example"}, nil, person, company)
	want := lead.Profile{
		lead.PersonName: "José Álvarez", lead.PersonGivenName: "José", lead.PersonFamilyName: "Álvarez",
		lead.PersonEmail: "jose.alvarez@acme.example", lead.PersonTitle: "CTO", lead.PersonRole: "engineering",
		lead.PersonSeniority: "executive", lead.PersonLinkedIn: "linkedin.com/in/josea", lead.PersonLocation: "Porto, Portugal",
		lead.PersonPhone: "+1 555-555-0100", lead.CompanyName: "Acme", lead.CompanyDomain: "acme.example",
		lead.CompanyIndustry: "Machinery", lead.CompanyHeadcount: "120", lead.CompanyLocation: "1 Main St, Porto",
		lead.CompanyPhone: "+1 555-555-0199", lead.CompanyLinkedIn: "linkedin.com/company/acme",
	}
	if d := cmp.Diff(want, a.Profile); d != "" {
		t.Error(d)
	}
	if older := time.Date(2025, 5, 1, 0, 0, 0, 0, time.UTC); !a.AsOf.Equal(older) {
		t.Errorf("as of %s, want the older of both, %s", a.AsOf, older)
	}
}

func TestHeadcountsInEveryForm(t *testing.T) {
	for in, want := range map[string]string{
		`{"employees":120}`: "120", `{"employees":"51-250"}`: "51-250", `{"employees":"10001+"}`: "10001+",
		`{"employees":null,"employeesRange":"1K-5K"}`: "1K-5K", `{"employeesRange":"10K+"}`: "10K+",
		`{"employees":"1,001 - 5,000"}`: "1001-5000", `{"employees":"51–200"}`: "51-200",
		`{"employees":1e400}`: "", `{"employees":-3}`: "", `{"employees":0}`: "", `{"employees":"0"}`: "",
		`{"employees":1e300,"employeesRange":"11-50"}`: "11-50", `{"employees":"many"}`: "", `{"employees":[1]}`: "", `{"employees":true}`: "",
		`{"employees":123456789012345678901234567890}`: "",
	} {
		a := combinedOf(t, lead.Lead{Email: "a@b.example"}, nil, `{"name":{"fullName":"A"}}`, `{"name":"B","metrics":`+in+`}`)
		if got := a.Profile[lead.CompanyHeadcount]; got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
}

func TestPlaceholdersAreNoValues(t *testing.T) {
	a := combinedOf(t, lead.Lead{Email: "a@b.example"}, nil,
		`{"email":"email_not_unlocked@domain.com","name":{"fullName":"N/A","givenName":"Jan","familyName":"Null"},"employment":{"title":"unknown","role":"-"},"phone":"--","location":" ","linkedin":{"handle":"undefined"}}`,
		`{"name":"None","domain":"n/a","phone":"`+strings.Repeat("9", 2000)+`"}`)
	want := lead.Profile{lead.PersonName: "Jan Null", lead.PersonGivenName: "Jan", lead.PersonFamilyName: "Null"}
	if d := cmp.Diff(want, a.Profile); d != "" {
		t.Error(d)
	}
}

func TestAnAnswerIsAboutTheOneWhoWasAskedAbout(t *testing.T) {
	for _, c := range []struct {
		asked, answered string
		same            bool
	}{
		{"a.b@acme.example", "A.B@Acme.example", true},
		{"ab+news@gmail.com", "a.b@googlemail.com", true},
		{"a.b@acme.example", "a.c@acme.example", false},
		{"a.b@acme.example", "", true},
		{"a.b@acme.example", "not an address", true},
		{"A.B@Acme.example", "a.b@acme.example", true},
	} {
		a := combinedOf(t, lead.Lead{Email: c.asked}, nil, `{"email":"`+c.answered+`","name":{"fullName":"A B"}}`, `{"name":"Acme"}`)
		if a.Class.HasData() != c.same || !c.same && (a.Class != lead.ClassNoData || a.Detail != "answer is about somebody else") {
			t.Errorf("%s answered with %q: %s %q", c.asked, c.answered, a.Class, a.Detail)
		}
	}
}

func TestAMailProviderIsNobodysEmployer(t *testing.T) {
	gmail := `{"name":"Gmail","domain":"gmail.com","category":{"industry":"Internet"}}`
	a := combinedOf(t, lead.Lead{Email: "a.b@gmail.com"}, nil, `{"name":{"fullName":"A B"},"employment":{"name":"Gmail","domain":"gmail.com"}}`, gmail)
	if a.Profile[lead.PersonName] != "A B" || a.Profile[lead.CompanyName] != "" || a.Profile[lead.CompanyDomain] != "" || a.Profile[lead.CompanyIndustry] != "" {
		t.Errorf("profile is %v", a.Profile)
	}
	if a = combinedOf(t, lead.Lead{Email: "a.b@gmail.com"}, nil, `null`, gmail); a.Class != lead.ClassNoData {
		t.Errorf("nothing but the mail provider is %s", a.Class)
	}
	a = combinedOf(t, lead.Lead{Email: "a.b@zoho.com", Domain: "zoho.com"}, nil, `{"name":{"fullName":"A B"}}`, `{"name":"Zoho","domain":"zoho.com"}`)
	if a.Profile[lead.CompanyName] != "Zoho" {
		t.Errorf("the lead came with the domain, and the profile is %v", a.Profile)
	}
}

func TestTheEmployerFillsInForTheCompanyOnlyIfItIsTheSame(t *testing.T) {
	person := `{"name":{"fullName":"A B"},"employment":{"name":"Acme","domain":"acme.example"}}`
	for company, want := range map[string]string{
		`null`: "Acme", `{"domain":"acme.example"}`: "Acme", `{"phone":"1"}`: "Acme",
		`{"domain":"other.example"}`: "", `{"name":"Other","domain":"other.example"}`: "Other",
	} {
		if a := combinedOf(t, lead.Lead{Email: "a.b@acme.example"}, nil, person, company); a.Profile[lead.CompanyName] != want {
			t.Errorf("beside %s the company is %q, want %q", company, a.Profile[lead.CompanyName], want)
		}
	}
}

func TestOKMeansThatNoWantedFieldIsOpen(t *testing.T) {
	want := []lead.Field{lead.PersonName, lead.PersonTitle, lead.CompanyName}
	person, company := `{"name":{"fullName":"A B"}}`, `{"name":"Acme"}`
	if a := combinedOf(t, lead.Lead{Email: "a@b.example"}, want, person, company); a.Class != lead.ClassPartial {
		t.Errorf("without the title it is %s", a.Class)
	}
	if a := combinedOf(t, lead.Lead{Email: "a@b.example", Title: "CTO"}, want, person, company); a.Class != lead.ClassOK {
		t.Errorf("with the lead's own title it is %s", a.Class)
	}
	if a := combinedOf(t, lead.Lead{Email: "a@b.example", Title: "CTO"}, want, person, `null`); a.Class != lead.ClassPartial {
		t.Errorf("without a company it is %s", a.Class)
	}
}

func TestDatesInTheFutureAreNotBelieved(t *testing.T) {
	a := combinedOf(t, lead.Lead{Email: "a@b.example"}, nil, `{"name":{"fullName":"A"},"indexedAt":"2999-01-01T00:00:00Z"}`, `{"name":"B","indexedAt":"yesterday"}`)
	if !a.AsOf.IsZero() {
		t.Errorf("as of %s", a.AsOf)
	}
}
