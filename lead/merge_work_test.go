package lead

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMergingWork(t *testing.T) {
	job := func(company, domain, title string) Profile {
		return clean(Profile{CompanyName: company, CompanyDomain: domain, PersonTitle: title})
	}
	acme := by("a", 2024, Profile{CompanyName: "Acme", CompanyDomain: "acme.com", CompanyHeadcount: "51-250", PersonTitle: "CTO", PersonSeniority: "executive", PersonLocation: "Rome"})
	beta := Profile{CompanyName: "Beta", CompanyDomain: "beta.example", PersonTitle: "VP"}
	betaInRome := Profile{CompanyName: "Beta", CompanyDomain: "beta.example", PersonTitle: "VP", PersonLocation: "Rome"}
	runMerges(t, map[string]mergeCase{
		"of one company it goes field by field": {
			[]statement{by("a", 0, job("Acme", "acme.com", "")), by("b", 0, job("Acme Inc", "www.acme.com", "CTO"))},
			job("Acme", "acme.com", "CTO"), map[Field]string{CompanyName: "Acme Inc"},
		},
		"of another company nothing is taken": {
			[]statement{by("a", 0, job("Acme", "acme.com", "")), by("b", 2026, job("Beta", "beta.example", "VP"))},
			job("Acme", "acme.com", ""), map[Field]string{CompanyName: "Beta", CompanyDomain: "beta.example", PersonTitle: "VP"},
		},
		"what is alike at both is no conflict": {
			[]statement{by("a", 0, job("Acme", "acme.com", "CTO")), by("b", 0, job("Beta", "beta.example", "cto"))},
			job("Acme", "acme.com", "CTO"), map[Field]string{CompanyName: "Beta", CompanyDomain: "beta.example"},
		},
		"a newer company leaves nothing of the older": {[]statement{acme, by("b", 2026, beta)}, betaInRome, nil},
		"not even what was dated later, or not at all": {
			[]statement{acme, by("c", 2027, Profile{PersonRole: "engineering", PersonTitle: "Chief"}), by("d", 0, Profile{CompanyPhone: "1"}), by("b", 2026, beta)},
			betaInRome, nil,
		},
		"a newer company that is less sure wins nothing": {
			[]statement{by("a", 2024, job("Acme", "acme.com", "CTO")).sure(0.9), by("b", 2026, beta).sure(0.2)},
			job("Acme", "acme.com", "CTO"), beta,
		},
		"the source's company stays, and nothing of another comes to it": {
			[]statement{source(job("Acme", "acme.com", "")), by("b", 2026, beta)}, job("Acme", "acme.com", ""), beta,
		},
		"the source's company is overwritten with all that providers said of it": {
			[]statement{source(job("", "acme.com", "")), by("a", 2024, job("Acme", "acme.com", "CTO")), by("b", 0, job("Beta", "beta.example", "")).over(CompanyDomain)},
			job("Beta", "beta.example", ""), nil,
		},
		"what the source says of the work stays at a newer company": {
			[]statement{source(job("", "", "CTO")), by("a", 2024, job("Acme", "acme.com", "")), by("b", 2026, beta)},
			job("Beta", "beta.example", "CTO"), map[Field]string{PersonTitle: "VP"},
		},
		"a company that the source named holds its domain": {
			[]statement{source(job("Acme", "", "")), by("a", 2024, job("Acme Inc", "acme.com", "CTO")), by("b", 2026, beta)},
			job("Acme", "acme.com", "CTO"), beta,
		},
		"until it has a newer domain": {
			[]statement{source(job("Acme", "", "")), by("a", 2024, job("Acme Inc", "acme.com", "CTO")), by("b", 2026, job("Acme Corp", "acme.io", "CEO"))},
			job("Acme", "acme.io", "CEO"), map[Field]string{CompanyName: "Acme Corp"},
		},
		"not until an answer that only has another domain": {
			[]statement{source(job("Acme", "", "")), by("a", 2024, job("", "acme.com", "CTO")), by("b", 2026, job("", "beta.io", "Intern"))},
			job("Acme", "acme.com", "CTO"), map[Field]string{CompanyDomain: "beta.io", PersonTitle: "Intern"},
		},
		"also where the answer before it had the name": {
			[]statement{source(job("Acme", "", "")), by("a", 2024, job("Acme", "acme.com", "CTO")), by("b", 2026, job("", "beta.io", "Intern"))},
			job("Acme", "acme.com", "CTO"), map[Field]string{CompanyDomain: "beta.io", PersonTitle: "Intern"},
		},
		"but until one whose domain has the name": {
			[]statement{source(job("Acme", "", "")), by("a", 2024, job("", "acme.com", "CTO")), by("b", 2026, job("", "acme.io", "CEO"))},
			job("Acme", "acme.io", "CEO"), nil,
		},
		"not until one whose name only begins with its letters": {
			[]statement{source(job("SAP", "", "")), by("a", 2024, job("SAP", "sap.com", "CTO")), by("b", 2026, job("Sapient", "sapient.com", "Intern"))},
			job("SAP", "sap.com", "CTO"), job("Sapient", "sapient.com", "Intern"),
		},
		"or may be overwritten": {
			[]statement{source(job("Acme", "", "")), by("a", 2024, job("Acme Inc", "acme.com", "CTO")), by("b", 2026, beta).over(CompanyName)},
			beta, nil,
		},
		"an inferred domain names no company": {
			[]statement{by("a", 0, job("", "", "CTO")), by(OriginInferred, 0, job("", "mail.example", "")), by("b", 0, job("Beta", "beta.example", "VP"))},
			job("Beta", "beta.example", "CTO"), map[Field]string{PersonTitle: "VP"},
		},
		"an inferred domain replaces none": {
			[]statement{by("a", 0, job("Beta", "beta.example", "")), by(OriginInferred, 0, job("", "mail.example", ""))},
			job("Beta", "beta.example", ""), map[Field]string{CompanyDomain: "mail.example"},
		},
		"an answer without a domain is of the known company": {
			[]statement{by("a", 2024, job("Acme", "acme.com", "")), by("b", 0, job("Beta", "", "VP"))},
			job("Acme", "acme.com", "VP"), map[Field]string{CompanyName: "Beta"},
		},
	})
	f, last := merged(acme, by("b", 2026, beta))
	for field, o := range f.Provenance {
		if want := map[bool]string{true: "b", false: "a"}[field.isWork()]; o.Provider != want {
			t.Errorf("%s is from %s, want %s", field, o.Provider, want)
		}
	}
	if want := []Field{CompanyDomain, CompanyName, PersonTitle}; !cmp.Equal(last.Replaced, want) || last.Filled != nil {
		t.Errorf("replaced %v and filled %v", last.Replaced, last.Filled)
	}
}

func TestACompanyThatTheLeadNamesIsNotMixedWithAnother(t *testing.T) {
	answer := func(name, domain string) Profile {
		return Profile{PersonTitle: "VP", CompanyName: name, CompanyDomain: domain, PersonLocation: "Porto"}
	}
	tests := []struct {
		name   string
		lead   Lead
		answer Profile
		mixed  bool // the title is taken
	}{
		{"another company", Lead{Company: "Acme", Email: "ann@acme.example"}, answer("Beta", "beta.example"), false},
		{"another company, by a free-mail address", Lead{Company: "Acme", Email: "ann@gmail.com"}, answer("Beta", "beta.example"), false},
		{"another company, whose name begins with the letters", Lead{Company: "SAP"}, answer("Sapient", "sapient.com"), false},
		{"another company, whose name is signs", Lead{Company: "Acme"}, answer("-", "beta.example"), false},
		{"the same with its legal form", Lead{Company: "Acme", Email: "ann@gmail.com"}, answer("Acme Inc.", "acme-robotics.example"), true},
		{"in full, with the short one as domain", Lead{Company: "IBM"}, answer("International Business Machines", "ibm.com"), true},
		{"under another name, but of the lead's own address", Lead{Company: "Alphabet", Email: "ann@mail.google.com"}, answer("Google", "google.com"), true},
		{"without a name in the answer", Lead{Company: "Acme"}, Profile{PersonTitle: "VP", CompanyDomain: "beta.example", PersonLocation: "Porto"}, true},
		{"without a company in the lead", Lead{Email: "ann@acme.example"}, answer("Beta", "beta.example"), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var f Facts
			f.Merge(tt.lead.Profile(), Origin{Provider: OriginSource}, nil)
			m := f.Merge(tt.answer, Origin{Provider: "hunter"}, nil)
			if got := f.Profile[PersonTitle] != ""; got != tt.mixed {
				t.Errorf("the title is taken: %v", got)
			}
			if f.Profile[PersonLocation] != "Porto" {
				t.Error("what is not of their work was not taken")
			}
			if _, told := m.Conflicts[PersonTitle]; told == tt.mixed {
				t.Errorf("the conflicts are %v", m.Conflicts)
			}
		})
	}
}
