package vendors_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/described"
	"backstop/providers/httpjson"
	"backstop/providers/vendors"
)

// anyLead has some of its values, in spellings as they come in.
var anyLead = rapid.Custom(func(t *rapid.T) lead.Lead {
	one := func(name string, values ...string) string {
		return rapid.SampledFrom(append(values, "", "")).Draw(t, name)
	}
	return lead.Lead{
		Email: one("email", "Ann.Lee+x@GoogleMail.com", "ann@mail.acme.example", "ann@Bücher.example", "no address", "", "", ""),
		Name:  one("name", "Ann Lee", "Dr. LEE, Ánn", "Ann Maria Lee", "王伟", "🚀"),

		GivenName: one("given name", "Ann", "Ánn Maria"), FamilyName: one("family name", "Lee", "O’Neil"),
		Company: one("company", "Acme Robotics", "ACME, Inc.", "-"),
		Domain:  one("domain", "acme.example", "https://www.Bücher.example/x", "gmail.com", "no domain"),

		LinkedIn: one("profile", "https://www.linkedin.com/in/AnnLee/", "linkedin.com/company/acme"),
		Phone:    one("phone", "+1 555-555-0100", "P"), Location: one("location", "Porto", "São Paulo"),
	}
})

var anyMissing = rapid.SliceOfDistinct(rapid.SampledFrom(lead.Fields), rapid.ID)

// anyNeeds are sets of values by which a described provider may be asked; not all of
// them make a description.
var anyNeeds = rapid.SliceOfN(rapid.SliceOfNDistinct(
	rapid.SampledFrom([]string{"email", "name", "given_name", "family_name", "company", "domain", "linkedin", "phone"}), 1, 4, rapid.ID), 1, 3)

// invented is a provider of a description of which only the needs matter.
func invented(needs [][]string) (providers.Provider, error) {
	sets := make([]string, len(needs))
	for i, set := range needs {
		sets[i] = "[" + strings.Join(set, ", ") + "]"
	}
	d, err := described.ParseDescription("acme.yaml", fmt.Appendf(nil, `name: acme
docs: d
base_url: https://acme.example
limits: [{rate: 1, per: 1s}]
needs: [%s]
request: {path: /v1, auth: none}
answers: [{status: 200, when: {title: filled}, class: ok}]
fields: {person.title: title, person.email: email, company.name: company}
`, strings.Join(sets, ", ")))
	if err != nil {
		return nil, err
	}
	return d.New(d.Name, httpjson.Options{})
}

// Whoever is forgotten is forgotten under Subjects: an answer that was kept under
// another one would stay.
func TestSubjectsAreAllThatACallMayHave(t *testing.T) {
	all := []providers.Provider{vendors.NewDirectory(nil)}
	for _, name := range vendors.Names() {
		p, err := vendors.New(name, httpjson.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	example, err := exampleOnThePage(t).New("peoplebook", httpjson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, example)
	kinds := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		asked := all
		if p, err := invented(anyNeeds.Draw(t, "needs")); err == nil { // else a set is never used
			asked = append(slices.Clone(all), p)
		}
		l := anyLead.Draw(t, "lead")
		if rapid.Bool().Draw(t, "normalised") {
			if n, err := lead.Normalize(l); err == nil {
				l = n
			}
		}
		missing := anyMissing.Draw(t, "missing")
		subjects := providers.Subjects(l)
		for _, p := range asked {
			calls, _ := p.Plan(l, missing)
			for _, c := range calls {
				kind, _, _ := strings.Cut(c.Subject, ":")
				kinds[kind] = true
				if c.Subject != "" && kind != "domain" && !slices.Contains(subjects, c.Subject) {
					t.Fatalf("%s is asked about %q, which is not in %q", p.Name(), c.Subject, subjects)
				}
			}
		}
	})
	if !kinds["name"] || !kinds["domain"] {
		t.Errorf("only calls about %v were planned", kinds)
	}
}

// The spellings under which answers once survived.
func TestSubjectsOfALead(t *testing.T) {
	for _, c := range []struct {
		lead    lead.Lead
		needs   []string
		subject string
	}{
		{lead.Lead{Name: "Ann Lee", Company: "Acme Robotics", Domain: "acme.example"}, []string{"name", "company"}, "name:ann lee@acmerobotics"},
		{lead.Lead{Name: "Ann Maria Lee", GivenName: "Ann", FamilyName: "Lee", Domain: "acme.example"}, []string{"given_name", "family_name", "domain"}, "name:ann lee@acme.example"},
		{lead.Lead{Name: "Ann Maria Lee", GivenName: "Ann", FamilyName: "Lee", Company: "Acme", Email: "a@acme.example"}, []string{"given_name", "domain"}, "name:ann@acme.example"},
		{lead.Lead{Name: "Ann Lee", Company: "Acme", Phone: "1"}, []string{"name", "phone"}, "name:ann lee@"},
	} {
		p, err := invented([][]string{c.needs})
		if err != nil {
			t.Fatal(err)
		}
		calls, why := p.Plan(c.lead, []lead.Field{lead.PersonTitle})
		if len(calls) != 1 || calls[0].Subject != c.subject || !slices.Contains(providers.Subjects(c.lead), c.subject) {
			t.Errorf("by %v: %+v %s; subjects are %q", c.needs, calls, why, providers.Subjects(c.lead))
		}
	}
	for subject, l := range map[string]lead.Lead{ // of People Data Labs
		"ann.lee@acme.example":           {Email: "Ann.Lee@acme.example", Name: "Ann Lee", Phone: "1"},
		"name:ann lee@":                  {Name: "Ann Lee", LinkedIn: "in/AnnLee"},
		"profile:linkedin.com/in/annlee": {LinkedIn: "in/AnnLee", Phone: "1"},
		"phone:+1 x":                     {Phone: "+1 X", Location: "Porto"},
	} {
		calls := callsOf(t, "pdl", httpjson.Options{}, l)
		if len(calls) != 1 || calls[0].Subject != subject || !slices.Contains(providers.Subjects(l), subject) {
			t.Errorf("%+v; subjects are %q", calls, providers.Subjects(l))
		}
	}
	if got := providers.Subjects(lead.Lead{}); len(got) != 0 {
		t.Errorf("of nobody: %q", got)
	}
}

// A value that is sent and does not show in the subject makes another question.
func TestEveryValueThatIsSentMakesAnotherQuestion(t *testing.T) {
	base := lead.Lead{Name: "Ann Lee", GivenName: "Ann", FamilyName: "Lee", Company: "Acme", Domain: "acme.example", LinkedIn: "linkedin.com/in/ann", Phone: "1"}
	others := map[string]lead.Lead{}
	for word, change := range map[string]func(*lead.Lead){
		"name": func(l *lead.Lead) { l.Name = "Bo Lee" }, "given_name": func(l *lead.Lead) { l.GivenName = "Bo" }, "family_name": func(l *lead.Lead) { l.FamilyName = "Roe" },
		"company": func(l *lead.Lead) { l.Company = "Beta" }, "domain": func(l *lead.Lead) { l.Domain = "beta.example" },
		"linkedin": func(l *lead.Lead) { l.LinkedIn = "linkedin.com/in/bo" }, "phone": func(l *lead.Lead) { l.Phone = "2" },
	} {
		l := base
		change(&l)
		others[word] = l
	}
	for _, set := range [][]string{
		{"name"}, {"name", "company"}, {"name", "domain"}, {"name", "company", "domain"}, {"name", "given_name", "domain"}, {"name", "family_name", "phone"},
		{"given_name", "family_name", "company"}, {"given_name", "linkedin"}, {"linkedin"}, {"phone", "company"}, {"domain"}, {"domain", "company"},
	} {
		p, err := invented([][]string{set})
		if err != nil {
			t.Fatal(err)
		}
		about := func(l lead.Lead) string {
			calls, why := p.Plan(l, []lead.Field{lead.PersonTitle})
			if len(calls) != 1 {
				t.Fatalf("by %v: %s", set, why)
			}
			return calls[0].Subject + " " + calls[0].Variant
		}
		for word, other := range others {
			if sent := slices.Contains(set, word); sent == (about(base) == about(other)) {
				t.Errorf("by %v, another %s: %q beside %q", set, word, about(base), about(other))
			}
		}
	}
}
