package vendors_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/sandbox"
	"backstop/providers/vendors"
)

func TestPlansAskOnlyForWhatIsMissing(t *testing.T) {
	clearbit, hunter, pdl := vendors.NewClearbit(httpjson.Options{}), vendors.NewHunter(httpjson.Options{}), vendors.NewPDL(httpjson.Options{})
	apollo, err := vendors.New("apollo", httpjson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	with, without := lead.Lead{Email: "a@acme.example"}, lead.Lead{Name: "A B"}
	atMail := lead.Lead{Email: "a@gmail.com"}
	inFirm := lead.Lead{Name: "Ann Lee", Domain: "acme.example"}
	verified := lead.Lead{Name: "Ann Lee", Email: "ann@acme.example"}
	fields := func(f ...lead.Field) []lead.Field { return f }
	state, email, job, firm := lead.PersonEmailStatus, lead.PersonEmail, lead.PersonTitle, lead.CompanyName
	for _, c := range []struct {
		name    string
		prov    providers.Provider
		lead    lead.Lead
		missing []lead.Field
		calls   []string
	}{
		{"clearbit", clearbit, with, want, []string{"combined/find"}},
		{"clearbit for the person", clearbit, with, fields(job), []string{"people/find"}},
		{"clearbit for the company", clearbit, with, fields(firm), []string{"companies/find"}},
		{"clearbit for the company of a mail address", clearbit, atMail, fields(firm), []string{"combined/find"}},
		{"clearbit for the company of a mail address with a domain", clearbit, lead.Lead{Email: "a@gmail.com", Domain: "acme.example"}, fields(firm), []string{"companies/find"}},
		{"clearbit without an address, for the company", clearbit, inFirm, want, []string{"companies/find"}},
		{"clearbit without an address, for the person", clearbit, inFirm, fields(job), nil},
		{"clearbit knows no state", clearbit, with, fields(state), nil},
		{"clearbit finds no other address", clearbit, with, fields(email, state), nil},
		{"clearbit finds no other address, whoever it is", clearbit, verified, fields(email), nil},
		{"clearbit for another address and the title", clearbit, verified, fields(email, job), []string{"people/find"}},
		{"clearbit without an address", clearbit, without, want, nil},
		{"clearbit with nothing missing", clearbit, with, nil, nil},
		{"hunter", hunter, with, want, []string{"combined/find"}},
		{"hunter for the person", hunter, with, fields(job), []string{"people/find"}},
		{"hunter for the company and the state", hunter, with, fields(firm, state), []string{"companies/find", "email-verifier"}},
		{"hunter for the state too", hunter, with, append(slices.Clone(want), state), []string{"combined/find", "email-verifier"}},
		{"hunter for the state alone", hunter, with, fields(state), []string{"email-verifier"}},
		{"hunter without an address", hunter, without, want, nil},
		{"hunter for the address", hunter, inFirm, fields(email, state), []string{"email-finder"}},
		{"hunter for the address by the company's name", hunter, lead.Lead{Name: "Ann Lee", Company: "Acme"}, fields(email), []string{"email-finder"}},
		{"hunter for the address without a company", hunter, without, fields(email), nil},
		{"hunter for the address and the company", hunter, inFirm, fields(email, firm), []string{"email-finder", "companies/find"}},
		{"hunter for a better address", hunter, verified, fields(email), []string{"email-finder"}},
		{"hunter for a better address and the state", hunter, verified, fields(email, state), []string{"email-finder", "email-verifier"}},
		{"hunter for a better address and the company", hunter, verified, fields(email, firm), []string{"email-finder", "companies/find"}},
		{"hunter for a better address of somebody without a name", hunter, with, fields(email), nil},
		{"hunter for a better address of somebody without a company", hunter, lead.Lead{Name: "Ann Lee", Email: "ann@gmail.com"}, fields(email), nil},
		{"hunter to confirm what the lead came with", hunter, verified, fields(lead.PersonName, email), []string{"people/find"}},
		{"pdl", pdl, with, want, []string{"person/enrich"}},
		{"pdl by name and domain", pdl, inFirm, want, []string{"person/enrich"}},
		{"pdl by name and place", pdl, lead.Lead{Name: "Ann Lee", Location: "Porto"}, want, []string{"person/enrich"}},
		{"pdl by profile", pdl, lead.Lead{Name: "Ann Lee", LinkedIn: "linkedin.com/in/annlee"}, want, []string{"person/enrich"}},
		{"pdl by phone", pdl, lead.Lead{Name: "Ann Lee", Phone: "+15555550100"}, want, []string{"person/enrich"}},
		{"pdl by name alone", pdl, without, want, nil},
		{"pdl knows no state", pdl, with, fields(state), nil},
		{"pdl finds no other address", pdl, verified, fields(email, state), nil},
		{"apollo finds no other address", apollo, lead.Lead{Email: "a@acme.example"}, fields(email), nil},
		{"apollo for another address, by name", apollo, verified, fields(email), []string{"api/v1/people/match"}},
		{"directory", vendors.NewDirectory(nil), with, want, []string{"look-up"}},
		{"directory without an address", vendors.NewDirectory(nil), without, want, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls, why := c.prov.Plan(c.lead, c.missing)
			var got []string
			for _, call := range calls {
				got = append(got, call.Endpoint)
			}
			if !slices.Equal(got, c.calls) || (why == "") == (len(calls) == 0) {
				t.Errorf("plan is %v (%q), want %v", got, why, c.calls)
			}
		})
	}
}

// What an answer about both has told, the endpoints for one of them do not tell
// again; but a company of another domain than the address's is another question.
func TestACallSaysWhichOtherOneTellsTheSame(t *testing.T) {
	for _, name := range []string{"clearbit", "hunter"} {
		p, err := vendors.New(name, httpjson.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			lead    lead.Lead
			missing lead.Field
			within  string
		}{
			{lead.Lead{Email: "a@acme.example"}, lead.PersonTitle, "combined/find"},
			{lead.Lead{Email: "a@mail.acme.example", Domain: "acme.example"}, lead.CompanyName, "combined/find"},
			{lead.Lead{Email: "a@gmail.com", Domain: "acme.example"}, lead.CompanyName, ""},
			{lead.Lead{Name: "A", Domain: "acme.example"}, lead.CompanyName, ""},
		} {
			if calls, _ := p.Plan(c.lead, []lead.Field{c.missing}); len(calls) != 1 || calls[0].Within != c.within {
				t.Errorf("%s for %s: %+v", name, c.missing, calls)
			}
		}
	}
}

// What the sandbox's APIs tell of a person comes through whole.
func TestProfilesComeThroughWhole(t *testing.T) {
	s := start(t, sandbox.Script{})
	for _, name := range coded {
		p, err := vendors.New(name, httpjson.Options{BaseURL: s.URL(name), APIKey: secretKey, Want: want, HTTP: client(t), MinLikelihood: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range sandbox.SampleLeads(60, 7) {
			if l.Email == "" {
				continue
			}
			a := ask(t, t.Context(), p, l)
			expect := sandbox.Person(l.Email)
			delete(expect, lead.PersonEmailStatus)
			asOf := sandbox.AsOf(l.Email)
			switch name {
			case "clearbit":
				delete(expect, lead.PersonPhone)
			case "pdl":
				delete(expect, lead.CompanyPhone)
				expect[lead.PersonPhone] = strings.NewReplacer(" ", "", "-", "").Replace(expect[lead.PersonPhone])
				asOf = asOf.Truncate(24 * time.Hour)
			}
			if d := cmp.Diff(expect, a.Profile); d != "" || a.Class != lead.ClassOK || !a.AsOf.Equal(asOf) {
				t.Fatalf("%s: %s as of %s\n%s", name, a.Class, a.AsOf, d)
			}
		}
	}
}

func TestDirectoryAnswers(t *testing.T) {
	asOf := time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC)
	profile := lead.Profile{lead.PersonTitle: "CTO"}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name  string
		ctx   context.Context
		look  vendors.LookUp
		class lead.Class
		says  string
	}{
		{"found is ok", t.Context(), func(context.Context, string) (lead.Profile, time.Time, bool, error) { return profile, asOf, true, nil }, lead.ClassOK, ""},
		{"not found is no_data", t.Context(), func(context.Context, string) (lead.Profile, time.Time, bool, error) {
			return nil, time.Time{}, false, nil
		}, lead.ClassNoData, "not in the directory"},
		{"found without a value is no_data", t.Context(), func(context.Context, string) (lead.Profile, time.Time, bool, error) {
			return lead.Profile{}, asOf, true, nil
		}, lead.ClassNoData, "not in the directory"},
		{"an error is transient", t.Context(), func(_ context.Context, email string) (lead.Profile, time.Time, bool, error) {
			return nil, time.Time{}, false, errors.New("no row for " + email)
		}, lead.ClassTransient, "the directory cannot be read"},
		{"cancelled has no class", cancelled, func(ctx context.Context, _ string) (lead.Profile, time.Time, bool, error) {
			return nil, time.Time{}, false, ctx.Err()
		}, "", "cancelled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ask(t, c.ctx, vendors.NewDirectory(c.look), lead.Lead{Email: secretEmail})
			if a.Class != c.class || a.Detail != c.says || a.Class == lead.ClassOK && (!a.AsOf.Equal(asOf) || a.Profile[lead.PersonTitle] != "CTO") {
				t.Errorf("answer is %+v", a)
			}
		})
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		provider string
		o        httpjson.Options
		says     string
	}{
		"an unknown name":       {"nosuch", httpjson.Options{}, "clearbit"},
		"no scheme":             {"hunter", httpjson.Options{BaseURL: "api.hunter.io"}, "base_url"},
		"another scheme":        {"hunter", httpjson.Options{BaseURL: "ftp://api.hunter.io"}, "base_url"},
		"a password in the URL": {"hunter", httpjson.Options{BaseURL: "https://u:hidden@api.hunter.io"}, "base_url"},
		"a key in the URL":      {"hunter", httpjson.Options{BaseURL: "https://api.hunter.io?api_key=hidden"}, "base_url"},
		"a key with a line end": {"hunter", httpjson.Options{APIKey: "hid\nden"}, "API key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := vendors.New(c.provider, c.o)
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("error is %v", err)
			}
		})
	}
	if a := ask(t, t.Context(), vendors.NewHunter(httpjson.Options{BaseURL: "ftp://x"}), lead.Lead{Email: secretEmail}); a.Class != lead.ClassOurBug {
		t.Errorf("a call with a wrong base_url is %s", a.Class)
	}
	if _, err := vendors.New("clearbit", httpjson.Options{APIKey: "key-from-a-file\n"}); err != nil {
		t.Errorf("a key that ends in a newline: %v", err)
	}
}

func TestFactsAreGivenForEveryName(t *testing.T) {
	for _, name := range vendors.Names() {
		f, ok := vendors.FactsOf(name)
		if !ok || !strings.HasPrefix(f.BaseURL, "https://") || f.KeyEnv == "" || len(f.Limits) == 0 || len(f.Endpoints) == 0 {
			t.Errorf("facts of %s are %+v", name, f)
		}
		f.Limits[0].Rate, f.Endpoints[0] = 0, "changed"
		if again, _ := vendors.FactsOf(name); again.Limits[0].Rate == 0 || again.Endpoints[0] == "changed" {
			t.Errorf("the facts of %s can be changed from outside", name)
		}
	}
	if _, ok := vendors.FactsOf("nosuch"); ok {
		t.Error("facts of an unknown provider")
	}
}

// Prices are given by endpoint: one that is not known would count for nothing.
func TestTheEndpointsOfAProviderAreThoseOfItsCalls(t *testing.T) {
	leads := []lead.Lead{{Email: secretEmail, Name: "Maria Garcia"}, {Email: "maria@gmail.com"}, {Name: "Maria Garcia", Domain: "acme.example"}}
	for _, name := range vendors.Names() {
		p, err := vendors.New(name, httpjson.Options{})
		if err != nil {
			t.Fatal(err)
		}
		called := map[string]bool{}
		for _, l := range leads {
			for _, missing := range append([][]lead.Field{lead.Fields}, title, company, address, state) {
				calls, _ := p.Plan(l, missing)
				for _, c := range calls {
					called[c.Endpoint] = true
				}
			}
		}
		f, _ := vendors.FactsOf(name)
		if got := slices.Sorted(maps.Keys(called)); !slices.Equal(got, f.Endpoints) {
			t.Errorf("%s is called at %q, and has %q", name, got, f.Endpoints)
		}
	}
	if f := exampleOnThePage(t).Facts(); !slices.Equal(f.Endpoints, []string{"v3/lookup"}) {
		t.Errorf("the example has %q", f.Endpoints)
	}
}
