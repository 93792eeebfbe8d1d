package providers_test

import (
	"testing"

	"backstop/lead"
	"backstop/providers"
)

// What a call's answer depends on: who asks the same twice must not pay twice,
// and nobody may get an answer that was meant for another question.
func TestCallsThatBuyTheSameAnswerSaySo(t *testing.T) {
	real, imitated := providers.Options{}, providers.Options{BaseURL: "http://127.0.0.1:1"}
	base := lead.Lead{Email: "ann.lee@gmail.com"}
	tests := []struct {
		name string
		lead lead.Lead
		o    providers.Options
		same bool
	}{
		{"another spelling", lead.Lead{Email: "An.Nlee+x@googlemail.com"}, real, true},
		{"other things that the source knows", lead.Lead{Email: base.Email, Title: "CTO", Company: "Firm", Domain: "firm.example"}, real, true},
		{"a mail provider as the lead's own domain", lead.Lead{Email: base.Email, Domain: "gmail.com"}, real, false},
		{"another person", lead.Lead{Email: "bob.lee@gmail.com"}, real, false},
		{"an imitation of the API", base, imitated, false},
	}
	for _, provider := range providers.Names() {
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
	calls, _ := providers.NewDirectory(nil).Plan(lead.Lead{Email: "a@acme.example"}, want)
	if len(calls) != 1 || calls[0].Subject != "" {
		t.Errorf("the directory's: %+v", calls)
	}
	for _, provider := range providers.Names() {
		for _, call := range callsOf(t, provider, providers.Options{}, lead.Lead{Email: "no address"}) {
			if call.Subject != "" {
				t.Errorf("%s names %q", provider, call.Subject)
			}
		}
	}
}

// callsOf is everything that a provider could be asked about a lead.
func callsOf(t *testing.T, name string, o providers.Options, l lead.Lead) []providers.Call {
	t.Helper()
	p, err := providers.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	calls, why := p.Plan(l, lead.Fields)
	if why != "" {
		t.Fatalf("%s: %s", name, why)
	}
	return calls
}
