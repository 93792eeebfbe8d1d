package providers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/sandbox"
)

func TestPlansAskOnlyForWhatIsMissing(t *testing.T) {
	with, without := lead.Lead{Email: "a@acme.example"}, lead.Lead{Name: "A B"}
	state := lead.PersonEmailStatus
	for _, c := range []struct {
		name    string
		prov    providers.Provider
		lead    lead.Lead
		missing []lead.Field
		calls   []string
	}{
		{"clearbit", providers.NewClearbit(providers.Options{}), with, want, []string{"combined/find"}},
		{"clearbit knows no state", providers.NewClearbit(providers.Options{}), with, []lead.Field{state}, nil},
		{"clearbit without an address", providers.NewClearbit(providers.Options{}), without, want, nil},
		{"clearbit with nothing missing", providers.NewClearbit(providers.Options{}), with, nil, nil},
		{"hunter", providers.NewHunter(providers.Options{}), with, want, []string{"combined/find"}},
		{"hunter for the state too", providers.NewHunter(providers.Options{}), with, append(slices.Clone(want), state), []string{"combined/find", "email-verifier"}},
		{"hunter for the state alone", providers.NewHunter(providers.Options{}), with, []lead.Field{state}, []string{"email-verifier"}},
		{"hunter without an address", providers.NewHunter(providers.Options{}), without, want, nil},
		{"directory", providers.NewDirectory(nil), with, want, []string{"look-up"}},
		{"directory without an address", providers.NewDirectory(nil), without, want, nil},
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

// What the sandbox's APIs tell of a person comes through whole.
func TestProfilesComeThroughWhole(t *testing.T) {
	s := start(t, sandbox.Script{})
	for _, name := range providers.Names() {
		p := provider(t, name, s.URL(name))
		for _, l := range sandbox.SampleLeads(60, 7) {
			if l.Email == "" {
				continue
			}
			a := ask(t, t.Context(), p, l)
			expect := sandbox.Person(l.Email)
			delete(expect, lead.PersonEmailStatus)
			if name == "clearbit" {
				delete(expect, lead.PersonPhone)
			}
			if d := cmp.Diff(expect, a.Profile); d != "" || a.Class != lead.ClassOK || !a.AsOf.Equal(sandbox.AsOf(l.Email)) {
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
		look  providers.LookUp
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
			a := ask(t, c.ctx, providers.NewDirectory(c.look), lead.Lead{Email: secretEmail})
			if a.Class != c.class || a.Detail != c.says || a.Class == lead.ClassOK && (!a.AsOf.Equal(asOf) || a.Profile[lead.PersonTitle] != "CTO") {
				t.Errorf("answer is %+v", a)
			}
		})
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		provider string
		o        providers.Options
		says     string
	}{
		"an unknown name":       {"apollo", providers.Options{}, "use one of clearbit, hunter"},
		"no scheme":             {"hunter", providers.Options{BaseURL: "api.hunter.io"}, "base_url"},
		"another scheme":        {"hunter", providers.Options{BaseURL: "ftp://api.hunter.io"}, "base_url"},
		"a password in the URL": {"hunter", providers.Options{BaseURL: "https://u:hidden@api.hunter.io"}, "base_url"},
		"a key in the URL":      {"hunter", providers.Options{BaseURL: "https://api.hunter.io?api_key=hidden"}, "base_url"},
		"a key with a line end": {"hunter", providers.Options{APIKey: "hid\nden"}, "API key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := providers.New(c.provider, c.o)
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("error is %v", err)
			}
		})
	}
	if a := ask(t, t.Context(), providers.NewHunter(providers.Options{BaseURL: "ftp://x"}), lead.Lead{Email: secretEmail}); a.Class != lead.ClassOurBug {
		t.Errorf("a call with a wrong base_url is %s", a.Class)
	}
	if _, err := providers.New("clearbit", providers.Options{APIKey: "key-from-a-file\n"}); err != nil {
		t.Errorf("a key that ends in a newline: %v", err)
	}
}

func TestFactsAreGivenForEveryName(t *testing.T) {
	for _, name := range providers.Names() {
		f, ok := providers.FactsOf(name)
		if !ok || !strings.HasPrefix(f.BaseURL, "https://") || f.KeyEnv == "" || len(f.Limits) == 0 {
			t.Errorf("facts of %s are %+v", name, f)
		}
		f.Limits[0].Rate = 0
		if again, _ := providers.FactsOf(name); again.Limits[0].Rate == 0 {
			t.Errorf("the limits of %s can be changed from outside", name)
		}
	}
	if _, ok := providers.FactsOf("apollo"); ok {
		t.Error("facts of an unknown provider")
	}
}
