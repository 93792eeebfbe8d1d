package vendors_test

import (
	"testing"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/vendors"
)

// What a call's answer depends on: who asks the same twice must not pay twice,
// and nobody may get an answer that was meant for another question.
func TestCallsThatBuyTheSameAnswerSaySo(t *testing.T) {
	real, imitated := httpjson.Options{}, httpjson.Options{BaseURL: "http://127.0.0.1:1"}
	base := lead.Lead{Email: "ann.lee@gmail.com"}
	tests := []struct {
		name string
		lead lead.Lead
		o    httpjson.Options
		same bool
	}{
		{"another spelling", lead.Lead{Email: "An.Nlee+x@googlemail.com"}, real, true},
		{"other things that the source knows", lead.Lead{Email: base.Email, Title: "CTO", Company: "Firm", Domain: "firm.example"}, real, true},
		{"a mail provider as the lead's own domain", lead.Lead{Email: base.Email, Domain: "gmail.com"}, real, false},
		{"another person", lead.Lead{Email: "bob.lee@gmail.com"}, real, false},
		{"an imitation of the API", base, imitated, false},
	}
	for _, provider := range coded {
		first := callsOf(t, provider, real, base)
		for _, tt := range tests {
			t.Run(provider+": "+tt.name, func(t *testing.T) {
				for i, call := range callsOf(t, provider, tt.o, tt.lead) {
					same := call.Subject == first[i].Subject && call.Variant == first[i].Variant
					if same != tt.same || call.Subject == "" || call.Endpoint != first[i].Endpoint {
						t.Errorf("%s: %q, %q beside %q, %q", call.Endpoint, call.Subject, call.Variant, first[i].Subject, first[i].Variant)
					}
				}
			})
		}
	}
}

func TestNoAnswerIsKeptOfTheDirectoryOrWithoutAnAddress(t *testing.T) {
	calls, _ := vendors.NewDirectory(nil).Plan(lead.Lead{Email: "a@acme.example"}, want)
	if len(calls) != 1 || calls[0].Subject != "" {
		t.Errorf("the directory's: %+v", calls)
	}
	for _, provider := range coded {
		for _, call := range callsOf(t, provider, httpjson.Options{}, lead.Lead{Email: "no address"}) {
			if call.Subject != "" {
				t.Errorf("%s names %q", provider, call.Subject)
			}
		}
	}
}

// callsOf is everything that a provider could be asked about a lead.
func callsOf(t *testing.T, name string, o httpjson.Options, l lead.Lead) []providers.Call {
	t.Helper()
	p, err := vendors.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	calls, why := p.Plan(l, lead.Fields)
	if why != "" {
		t.Fatalf("%s: %s", name, why)
	}
	return calls
}

// Who has no address is told by name and company, a company by its domain.
func TestCallsWithoutAnAddressSayWhomTheyAreAbout(t *testing.T) {
	ann := lead.Lead{Name: "Ann Lee", Domain: "acme.example"}
	for _, c := range []struct {
		provider   string
		one, other lead.Lead
		missing    lead.Field
		subject    string // of the first
		same       bool
	}{
		{"hunter", ann, lead.Lead{Name: "Dr. ann LEE", Domain: "acme.example", Title: "CTO", Phone: "1"}, lead.PersonEmail, "name:ann lee@acme.example", true},
		{"hunter", ann, lead.Lead{Name: "Bob Lee", Domain: "acme.example"}, lead.PersonEmail, "name:ann lee@acme.example", false},
		{"hunter", ann, lead.Lead{Name: "Ann Lee", Domain: "other.example"}, lead.PersonEmail, "name:ann lee@acme.example", false},
		{"hunter", lead.Lead{Name: "Ann Lee", Email: "x@gmail.com", Company: "Acme"}, lead.Lead{Name: "Ann Lee", Company: "ACME."}, lead.PersonEmail, "name:ann lee@acme", true},
		{"pdl", ann, lead.Lead{Name: "ANN LEE", Domain: "acme.example", Title: "CTO"}, lead.PersonTitle, "name:ann lee@acme.example", true},
		{"pdl", ann, lead.Lead{Name: "Ann Lee", Domain: "acme.example", LinkedIn: "linkedin.com/in/annlee"}, lead.PersonTitle, "name:ann lee@acme.example", false},
		{"pdl", ann, lead.Lead{Name: "Ann Lee", Domain: "acme.example", Location: "Porto"}, lead.PersonTitle, "name:ann lee@acme.example", false},
		{"pdl", ann, lead.Lead{Name: "Ann Lee", Domain: "acme.example", Company: "Acme"}, lead.PersonTitle, "name:ann lee@acme.example", false},
		{"pdl", lead.Lead{Name: "Ann Lee", Location: "Porto"}, lead.Lead{Name: "Bob Lee", Location: "Porto"}, lead.PersonTitle, "name:ann lee@", false},
		{"pdl", lead.Lead{LinkedIn: "linkedin.com/in/annlee"}, lead.Lead{LinkedIn: "https://www.linkedin.com/in/AnnLee/"}, lead.PersonTitle, "profile:linkedin.com/in/annlee", true},
		{"clearbit", lead.Lead{Email: "ann.lee@acme.example"}, lead.Lead{Email: "bob@acme.example", Name: "Bob"}, lead.CompanyName, "domain:acme.example", true},
		{"clearbit", lead.Lead{Email: "ann.lee@acme.example"}, lead.Lead{Name: "Bob", Domain: "other.example"}, lead.CompanyName, "domain:acme.example", false},
	} {
		p, err := vendors.New(c.provider, httpjson.Options{})
		if err != nil {
			t.Fatal(err)
		}
		one, _ := p.Plan(c.one, []lead.Field{c.missing})
		other, _ := p.Plan(c.other, []lead.Field{c.missing})
		if len(one) != 1 || len(other) != 1 {
			t.Fatalf("%s: %d and %d calls", c.provider, len(one), len(other))
		}
		same := one[0].Subject == other[0].Subject && one[0].Variant == other[0].Variant
		if one[0].Subject != c.subject || same != c.same {
			t.Errorf("%s: %q %q beside %q %q", c.provider, one[0].Subject, one[0].Variant, other[0].Subject, other[0].Variant)
		}
	}
}

func TestAnotherLeastLikelihoodIsAnotherQuestion(t *testing.T) {
	low := callsOf(t, "pdl", httpjson.Options{MinLikelihood: 2}, lead.Lead{Email: "a@acme.example"})[0]
	high := callsOf(t, "pdl", httpjson.Options{}, lead.Lead{Email: "a@acme.example"})[0]
	if low.Variant == high.Variant || low.Subject != high.Subject {
		t.Errorf("%q beside %q", low.Variant, high.Variant)
	}
}
