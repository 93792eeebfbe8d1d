package vendors

import (
	"testing"
	"time"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
)

func TestAnAnswerForALeadOfAnotherName(t *testing.T) {
	given := providers.Answer{
		Class: lead.ClassOK, Status: 200, Billed: true, Confidence: 0.9, AsOf: noon,
		Profile: lead.Profile{lead.PersonName: "Maria Garcia", lead.CompanyName: "Acme"},
	}
	for name, same := range map[string]bool{
		"": true, "Maria Garcia": true, "GARCÍA, Maria": true, "M. Garcia": true, "Maria Lopez": true, "王芳": true,
		"Bob Stone": false,
	} {
		a := given.For(lead.Lead{Name: name})
		if a.Class.HasData() != same || (len(a.Profile) > 0) != same || a.Status != 200 || !a.Billed {
			t.Errorf("for %q it is %+v", name, a)
		}
		if !same && (a.Class != lead.ClassNoData || a.Detail != providers.SomebodyElse || a.Confidence != 0 || !a.AsOf.IsZero()) {
			t.Errorf("for %q it is %+v", name, a)
		}
	}
	bob := lead.Lead{Name: "Bob Stone", Email: "m.garcia@gmail.com"}
	given.Profile[lead.PersonEmail] = "mgarcia@gmail.com"
	if a := given.For(bob); a.Class != lead.ClassNoData {
		t.Errorf("with the lead's own address, which may have been handed on, it is %+v", a)
	}
	given.Profile[lead.CompanyDomain] = "acme.example"
	bob.Email = "m.garcia@mail.acme.example"
	if a := given.For(bob); a.Class != lead.ClassPartial || len(a.Profile) != 2 || a.Profile[lead.CompanyName] != "Acme" || !a.Billed {
		t.Errorf("of the lead's own company it is %+v", a)
	}
	if a := (providers.Answer{Class: lead.ClassTransient, Detail: "x"}).For(lead.Lead{Name: "Bob"}); a.Class != lead.ClassTransient || a.Detail != "x" {
		t.Errorf("an answer without data became %+v", a)
	}
}

func TestWhoWasAskedAboutByName(t *testing.T) {
	ann := profile.Named{Name: "Ann Lee", Domain: "acme-robotics.example", Company: "Acme Robotics"}
	for _, c := range []struct {
		why                   string
		asked                 profile.Named
		name, domain, company string
		agrees                bool
	}{
		{"name and domain", ann, "ann lee", "acme-robotics.example", "Other", true},
		{"a host of the domain", ann, "Lee, Ann", "mail.acme-robotics.example", "", true},
		{"an initial", ann, "A. Lee", "acme-robotics.example", "", true},
		{"another given name", ann, "Bob Lee", "acme-robotics.example", "", false},
		{"another domain", ann, "Ann Lee", "other.example", "Acme Robotics", false},
		{"the company's name with its legal form", ann, "Ann Lee", "", "ACME Robotics, Inc.", true},
		{"the company's name in one word", ann, "Ann Lee", "", "AcmeRobotics", true},
		{"a longer name of the company", ann, "Ann Lee", "", "Acme Robotics Europe", true},
		{"another company", ann, "Ann Lee", "", "Acne Robotics", false},
		{"no company", ann, "Ann Lee", "", "", false},
		{"no company, and none was asked for", profile.Named{Name: "Ann Lee"}, "Ann Lee", "", "", true},
		{"a company for a domain", profile.Named{Name: "Ann Lee", Domain: "acme-robotics.example"}, "Ann Lee", "", "Acme Robotics", true},
		{"another company for a domain", profile.Named{Name: "Ann Lee", Domain: "acme-robotics.example"}, "Ann Lee", "", "Zeta", false},
		{"only a legal form in common", profile.Named{Name: "Ann Lee", Company: "Inc"}, "Ann Lee", "", "Acme Inc", false},
		{"signs only", profile.Named{Name: "Ann Lee", Company: "&"}, "Ann Lee", "", "-", false},
	} {
		if got := c.asked.Agrees(c.name, c.domain, c.company); got != c.agrees {
			t.Errorf("%s: agrees is %t", c.why, got)
		}
	}
}

// matchedAs is what People Data Labs' record comes to.
func matchedAs(t *testing.T, l lead.Lead, likelihood, data string) providers.Answer {
	t.Helper()
	doc, bad := httpjson.Reply{Status: 200, Body: []byte(`{"likelihood":` + likelihood + `,"data":` + data + `}`)}.JSON()
	if bad != "" {
		t.Fatal(bad)
	}
	d := NewPDL(httpjson.Options{Now: func() time.Time { return noon }}).(*pdl)
	return d.gated(profile.Question{Lead: l}, doc.At("likelihood"), doc.At("data"))
}

func TestMatchesByAProfile(t *testing.T) {
	ann := lead.Lead{Name: "Ann Lee", LinkedIn: "linkedin.com/in/annlee"}
	inFirm := ann
	inFirm.Domain = "acme.example"
	for _, c := range []struct {
		why  string
		lead lead.Lead
		data string
		ok   bool
	}{
		{"the same profile", ann, `{"full_name":"ann lee","linkedin_url":"linkedin.com/in/AnnLee","job_title":"cto"}`, true},
		{"the same profile of another name", ann, `{"full_name":"bob stone","linkedin_url":"linkedin.com/in/annlee","job_title":"cto"}`, false},
		{"another profile", ann, `{"full_name":"ann lee","linkedin_url":"linkedin.com/in/other","job_title":"cto"}`, false},
		{"another profile at the right company", inFirm, `{"full_name":"ann lee","linkedin_url":"linkedin.com/in/other","job_title":"cto","job_company_website":"acme.example"}`, true},
		{"another profile at another company", inFirm, `{"full_name":"ann lee","linkedin_url":"linkedin.com/in/other","job_title":"cto","job_company_website":"other.example"}`, false},
	} {
		if a := matchedAs(t, c.lead, "8", c.data); a.Class.HasData() != c.ok {
			t.Errorf("%s: %s %q", c.why, a.Class, a.Detail)
		}
	}
}

// A colleague at the same company is somebody else, however likely the match is.
func TestMatchesByAnAddress(t *testing.T) {
	ann := lead.Lead{Email: "ann@acme.example"}
	named := lead.Lead{Email: "ann@acme.example", Name: "Bob Stone"} // another lead's name must not decide what all get
	for _, c := range []struct {
		why, likelihood, data string
		ok                    bool
	}{
		{"the address", "7", `{"full_name":"ann lee","work_email":"ann@acme.example","job_title":"cto"}`, true},
		{"the address among others", "7", `{"full_name":"ann lee","work_email":"a.lee@acme.example","emails":[{"address":"ann@acme.example"}],"job_title":"cto"}`, true},
		{"a colleague's address", "7", `{"full_name":"bob stone","work_email":"bob@acme.example","job_title":"cto","job_company_website":"acme.example"}`, false},
		{"a private address only", "10", `{"full_name":"bob stone","personal_emails":["bob@gmail.com"],"job_title":"cto","job_company_website":"acme.example"}`, false},
		{"no address", "7", `{"full_name":"ann lee","job_title":"cto"}`, true},
		{"neither address nor likelihood", "null", `{"full_name":"ann lee","job_title":"cto"}`, false},
		{"neither, at the company", "null", `{"full_name":"ann lee","job_title":"cto","job_company_website":"acme.example"}`, true},
		{"neither, at another company", "null", `{"full_name":"ann lee","job_title":"cto","job_company_website":"beta.example"}`, false},
	} {
		for _, l := range []lead.Lead{ann, named} {
			if a := matchedAs(t, l, c.likelihood, c.data); a.Class.HasData() != c.ok {
				t.Errorf("%s, for %q: %s %q", c.why, l.Name, a.Class, a.Detail)
			}
		}
	}
}

func TestWhatPeopleDataLabsTells(t *testing.T) {
	l := lead.Lead{Email: "A.Lee@Acme.example"}
	a := matchedAs(t, l, "7", `{"full_name":"ann o'brien-lee","first_name":"ann","emails":["x",{"address":"a.lee@acme.example"}],"mobile_phone":true,
		"phone_numbers":["+15555550100"],"job_title_levels":["cxo","owner"],"job_title_role":"engineering","linkedin_url":"https://www.linkedin.com/in/annlee",
		"job_company_website":"http://www.Acme.example/","job_company_employee_count":"120","job_company_size":"51-200","job_last_updated":"2025-03-04",
		"job_company_founded":1999,"birth_year":"1980"}`)
	want := lead.Profile{
		lead.PersonName: "Ann O'Brien-Lee", lead.PersonGivenName: "Ann", lead.PersonEmail: "a.lee@acme.example", lead.PersonPhone: "+15555550100",
		lead.PersonSeniority: "cxo", lead.PersonRole: "engineering", lead.PersonLinkedIn: "linkedin.com/in/annlee",
		lead.CompanyDomain: "acme.example", lead.CompanyHeadcount: "120",
	}
	for _, f := range lead.Fields {
		if a.Profile[f] != want[f] {
			t.Errorf("%s is %q, want %q", f, a.Profile[f], want[f])
		}
	}
	if a.Confidence != 0.7 || !a.AsOf.Equal(time.Date(2025, 3, 4, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("confidence %g as of %s", a.Confidence, a.AsOf)
	}
	for _, odd := range []string{"null", `"very"`, "true", "11", "-1", "[9]", "{}"} {
		if a := matchedAs(t, l, odd, `{"full_name":"ann lee","work_email":"a.lee@acme.example","job_last_updated":"2999-01-01"}`); !a.Class.HasData() || a.Confidence != 0 || !a.AsOf.IsZero() {
			t.Errorf("likelihood %s: %s with the confidence %g as of %s", odd, a.Class, a.Confidence, a.AsOf)
		}
	}
}

func TestTheFindersScoreIsTheConfidence(t *testing.T) {
	h := NewHunter(httpjson.Options{}).(*hunter)
	q := profile.Question{Lead: lead.Lead{Name: "Ann Lee", Domain: "acme.example"}}
	for score, want := range map[string]float64{"97": 0.97, `"80"`: 0.8, "null": 0, "101": 0, "-1": 0, `"high"`: 0} {
		doc, _ := httpjson.Reply{Status: 200, Body: []byte(`{"email":"ann@acme.example","score":` + score + `}`)}.JSON()
		if a := h.foundAddress(q, q.Named(), doc); a.Confidence != want || a.Profile[lead.PersonEmail] != "ann@acme.example" {
			t.Errorf("score %s is the confidence %g, %s", score, a.Confidence, a.Class)
		}
	}
}

func TestUsualCapitals(t *testing.T) {
	for in, want := range map[string]string{
		"ann lee": "Ann Lee", "sean o'brien": "Sean O'Brien", "jean-luc picard": "Jean-Luc Picard", "vincent van gogh": "Vincent van Gogh",
		"van morrison": "Van Morrison", "ronald mcdonald": "Ronald McDonald", "élodie lefèvre": "Élodie Lefèvre", "john smith iii": "John Smith III",
		"Ann LEE": "Ann LEE", "": "", "王芳": "王芳", "mc hammer": "Mc Hammer",
	} {
		if got := profile.CapitalName(in); got != want {
			t.Errorf("the name %q is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"vp of sales": "VP of Sales", "chief executive officer": "Chief Executive Officer", "it administrator": "IT Administrator",
		"head of r&d": "Head of R&D", "co-founder and ceo": "Co-Founder and CEO", "são paulo, são paulo, brazil": "São Paulo, São Paulo, Brazil",
		"research and development": "Research and Development", "the home depot": "The Home Depot", "levi's": "Levi's", "siemens ag": "Siemens AG",
		"sales/marketing": "Sales/Marketing", "3d designer": "3d Designer", "CTO": "CTO",
	} {
		if got := profile.CapitalText(in); got != want {
			t.Errorf("the text %q is %q, want %q", in, got, want)
		}
	}
}
