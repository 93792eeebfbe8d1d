package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backstop/resilience"
)

// describe reads "descriptions" that are a base URL alone.
func describe(file string) (Provider, error) {
	text, err := os.ReadFile(file)
	switch {
	case err != nil:
		return Provider{}, err
	case strings.HasPrefix(string(text), "broken"):
		return Provider{}, errors.Join(fmt.Errorf("%s:1: name: is missing", filepath.Base(file)), fmt.Errorf("%s:2: fields: are missing", filepath.Base(file)))
	}
	return Provider{BaseURL: strings.TrimSpace(string(text)), APIKeyEnv: "ACME_API_KEY", Limits: []resilience.Limit{{Rate: 5, Per: 1e9}}}, nil
}

// loadDescribed loads a configuration that stands beside acme.yaml and broken.yaml.
func loadDescribed(t *testing.T, content string, environ ...string) (Config, string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"backstop.yaml": content, "acme.yaml": "https://api.acme.example\n", "broken.yaml": "broken",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, _, err := Load(Source{File: filepath.Join(dir, "backstop.yaml"), Facts: facts, Describe: describe, Environ: environ})
	return c, dir, err
}

func TestADescribedProviderIsOneOfThem(t *testing.T) {
	for name, environ := range map[string][]string{
		"by the file":        nil,
		"by the environment": {"BACKSTOP_PROVIDERS__ACME__DESCRIPTION=acme.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			content := "chain: [acme, hunter]\nproviders: {acme: {timeout: 2s, description: acme.yaml}}\n"
			if environ != nil {
				content = "chain: [acme, hunter]\nproviders: {acme: {timeout: 2s}}\n"
			}
			c, dir, err := loadDescribed(t, content, environ...)
			if err != nil {
				t.Fatal(err)
			}
			p := c.Providers["acme"]
			got := []string{p.BaseURL, p.APIKeyEnv, fmt.Sprint(p.Limits), p.Timeout.String(), p.Description}
			want := []string{"https://api.acme.example", "ACME_API_KEY", "[5 per 1s]", "2s", filepath.Join(dir, "acme.yaml")}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestADescriptionReplacesAKnownProvider(t *testing.T) {
	c, _, err := loadDescribed(t, "providers: {hunter: {description: acme.yaml}}")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Providers["hunter"].BaseURL; got != "https://api.acme.example" {
		t.Errorf("base URL %s", got)
	}
	if facts["hunter"].BaseURL != "https://api.hunter.io" {
		t.Error("the caller's facts were changed")
	}
}

func TestWhatIsWrongWithADescriptionIsAProblem(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		want    []string
	}{
		"a file that is not there": {"chain: [acme]\nproviders:\n  acme:\n    description: acmee.yaml\n",
			[]string{"backstop.yaml:4: providers.acme.description: cannot be read", "acmee.yaml"}},
		"a description that is wrong": {"providers: {acme: {description: broken.yaml}}\nretry: {max: -1}\n",
			[]string{"broken.yaml:1: name: is missing", "broken.yaml:2: fields: are missing"}},
		"a name that nothing describes": {"providers: {acme: {timeout: 1s}}", []string{":1: providers.acme: there is no such provider"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := loadDescribed(t, tt.content)
			for _, part := range tt.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("the message lacks %q: %v", part, err)
				}
			}
		})
	}
}

func TestProblemsOfTheWaterfall(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		want    []string
	}{
		"a field that is not known":           {"want: [person.titel]", []string{":1: want", `"person.titel"`, "person.title"}},
		"a field to overwrite":                {"overwrite: [title]", []string{":1: overwrite", `"title"`}},
		"a field to fill":                     {"providers:\n  hunter:\n    fills: [person.titel]\n", []string{":3: providers.hunter.fills", `"person.titel"`}},
		"a condition":                         {"providers: {hunter: {only_if: [has_domian]}}", []string{":1: providers.hunter.only_if", `"has_domian"`, "has_domain"}},
		"a negative price":                    {"providers: {hunter: {credits: -1}}", []string{"providers.hunter.credits", "from 0 to"}},
		"a price that is none":                {"providers: {hunter: {prices: {email-verifier: .nan}}}", []string{"providers.hunter.prices.email-verifier", "number of credits"}},
		"a price of an endpoint that is none": {"providers:\n  hunter:\n    prices:\n      combind/find: 2\n", []string{":4: providers.hunter.prices.combind/find", "combined/find"}},
		"a cap without a price":               {"providers: {hunter: {credits: 0, caps: {day: 5}}}", []string{":1: providers.hunter.caps", "providers.hunter.credits"}},
		"a negative cap":                      {"providers: {hunter: {caps: {day: -5}}}", []string{"providers.hunter.caps.day"}},
		"a cap of another period":             {"providers: {hunter: {caps: {week: 5}}}", []string{"providers.hunter.caps.week", "day, month"}},
		"a likelihood out of the range":       {"providers: {hunter: {min_likelihood: 11}}", []string{"providers.hunter.min_likelihood", "1 to 10"}},
		"a negative retention":                {"retention: {trails: -1h}", []string{":1: retention.trails", "0 to keep for ever"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "backstop.yaml")
			if err := os.WriteFile(file, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			known := facts["hunter"]
			known.Endpoints = []string{"combined/find", "email-verifier"}
			_, _, err := Load(Source{File: file, Facts: map[string]Provider{"clearbit": facts["clearbit"], "hunter": known}, Fields: []string{"person.title", "company.name"}, Conditions: []string{"has_domain"}})
			for _, part := range tt.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("the message lacks %q: %v", part, err)
				}
			}
		})
	}
}

func TestPricesCapsAndRulesAreRead(t *testing.T) {
	c, err := load(t, `
overwrite: [person.title]
retention: {outcomes: 8760h, trails: 720h}
http: {ca_file: /etc/ca.pem}
providers:
  hunter: {fills: [person.title], only_if: [has_domain], credits: 0.5, prices: {email-finder: 1, combined/find: 0.2}, caps: {day: 100}}
`, "BACKSTOP_PROVIDERS__HUNTER__CAPS__MONTH=2000.5")
	if err != nil {
		t.Fatal(err)
	}
	want := c.Providers["hunter"]
	want.Fills, want.OnlyIf, want.Credits = []string{"person.title"}, []string{"has_domain"}, 0.5
	want.Prices, want.Caps = map[string]float64{"email-finder": 1, "combined/find": 0.2}, Caps{Day: 100, Month: 2000.5}
	if diff := cmp.Diff(want, c.Providers["hunter"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if c.Providers["clearbit"].Credits != 1 || c.Retention.Trails.Hours() != 720 || c.HTTP.CAFile != "/etc/ca.pem" || len(c.Overwrite) != 1 {
		t.Errorf("got %+v", c)
	}
}
