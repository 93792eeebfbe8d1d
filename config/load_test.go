package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/resilience"
)

var facts = map[string]Provider{
	"clearbit": {BaseURL: "https://person.clearbit.com", APIKeyEnv: "CLEARBIT_API_KEY", Limits: []resilience.Limit{{Rate: 600, Per: time.Minute}}},
	"hunter":   {BaseURL: "https://api.hunter.io", APIKeyEnv: "HUNTER_API_KEY", Limits: []resilience.Limit{{Rate: 10, Per: time.Second}, {Rate: 300, Per: time.Minute}}},
}

// load reads a file with the given content; "" is no file.
func load(t *testing.T, content string, environ ...string) (Config, error) {
	t.Helper()
	src := Source{Facts: facts, Environ: environ}
	if content != "" {
		src.File = filepath.Join(t.TempDir(), "backstop.yaml")
		if err := os.WriteFile(src.File, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Chdir(t.TempDir())
	}
	c, _, err := Load(src)
	return c, err
}

func TestWithoutAFileTheDefaultsHold(t *testing.T) {
	c, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	want := Defaults()
	want.Providers = map[string]Provider{}
	for name, f := range facts {
		p := withFacts(f)
		p.Cache = Ages{Positive: 24 * time.Hour, Negative: 24 * time.Hour}
		want.Providers[name] = p
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTheEnvironmentGoesOverTheFileAndTheFileOverTheDefaults(t *testing.T) {
	c, err := load(t, `
redis: {url: redis://redis.example:6379/1}
retry: {max: 0, base: 500ms}
providers:
  clearbit:
    limits: [{rate: 10, per: 1s}]
    circuit: {failures: 3}
`,
		"BACKSTOP_REDIS__URL=redis://:secret@other.example:6379/2",
		"BACKSTOP_CHAIN=hunter, clearbit",
		"BACKSTOP_PROVIDERS__HUNTER__LIMITS=[{rate: 5, per: 2s}]",
		"BACKSTOP_PROVIDERS__HUNTER__BASE_URL=http://127.0.0.1:8089/hunter",
		"BACKSTOP_WORKER__ADMIN=",
		"UNRELATED=1")
	if err != nil {
		t.Fatal(err)
	}
	checks := []struct{ name, got, want string }{
		{"a variable beats the file", c.Redis.URL, "redis://:secret@other.example:6379/2"},
		{"a list of names", strings.Join(c.Chain, "+"), "hunter+clearbit"},
		{"an empty variable counts", c.Worker.Admin, ""},
		{"a deep key", c.Providers["hunter"].BaseURL, "http://127.0.0.1:8089/hunter"},
		{"the file beats the default", c.Retry.Base.String(), "500ms"},
		{"beside it the default stays", c.Retry.Budget.String(), "10s"},
		{"a list of the file replaces the default", cmp.Diff(c.Providers["clearbit"].Limits, []resilience.Limit{{Rate: 10, Per: time.Second}}), ""},
		{"a shorter list leaves nothing of the longer one", cmp.Diff(c.Providers["hunter"].Limits, []resilience.Limit{{Rate: 5, Per: 2 * time.Second}}), ""},
		{"one key of a map leaves its neighbours", c.Providers["clearbit"].Circuit.Cooldown.String(), "30s"},
	}
	for _, ch := range checks {
		if ch.got != ch.want {
			t.Errorf("%s: got %q, want %q", ch.name, ch.got, ch.want)
		}
	}
	if c.Retry.Max != 0 {
		t.Errorf("an explicit zero is kept: got %d", c.Retry.Max)
	}
}

func TestJSONIsAcceptedWhereYAMLIs(t *testing.T) {
	c, err := load(t, `{"want": ["person.title"], "worker": {"concurrency": 4}}`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Worker.Concurrency != 4 || len(c.Want) != 1 {
		t.Errorf("got %+v", c)
	}
}

func TestAProblemNamesPlaceKeyAndCure(t *testing.T) {
	tests := []struct {
		name, file string
		environ    []string
		want       []string // parts of the message
	}{
		{"an unknown key", "redis:\n  url: redis://h:1\n  pasword: x\n", nil, []string{"backstop.yaml:3", "redis.pasword", "unknown key", "password_env"}},
		{"an unknown key inside a provider", "providers:\n  clearbit:\n    limit: []\n", nil, []string{"backstop.yaml:3", "providers.clearbit.limit", "limits"}},
		{"an unknown key inside a limit", "providers:\n  clearbit:\n    limits:\n      - {rate: 1, every: 1s}\n", nil, []string{":4", "every", "rate, per"}},
		{"an unknown variable", "", []string{"BACKSTOP_RETRY__MAXIMUM=1"}, []string{"environment variable BACKSTOP_RETRY__MAXIMUM", "max"}},
		{"an unknown provider", "providers: {clearbitt: {timeout: 1s}}", nil, []string{":1", "clearbitt", "clearbit, hunter"}},
		{"an unknown provider in the chain", "chain: [clearbit, acme]", nil, []string{":1", "chain", `"acme"`}},
		{"a provider twice", "chain: [clearbit, clearbit]", nil, []string{"twice"}},
		{"an empty chain", "chain: []", nil, []string{"chain", "at least one"}},
		{"a duration without a unit", "retry:\n  base: 5\n", nil, []string{":2", "retry.base", "5s"}},
		{"a bad duration", "retry: {budget: ten}", nil, []string{":1", "retry.budget"}},
		{"a negative duration", "pending: {max: -1s}", nil, []string{"pending.max", "positive"}},
		{"text for a number", "", []string{"BACKSTOP_WORKER__CONCURRENCY=many"}, []string{"BACKSTOP_WORKER__CONCURRENCY", "worker.concurrency"}},
		{"a limit without a rate", "providers: {hunter: {limits: [{per: 1s}]}}", nil, []string{"providers.hunter.limits", "rate"}},
		{"broken YAML", "redis: [", nil, []string{"backstop.yaml", "line"}},
		{"a scheme that is not known", "ledger: {url: mysql://h/db}", nil, []string{"ledger.url", "postgres://"}},
		{"a password in the file", "redis: {url: 'redis://:hunter2@h:6379'}", nil, []string{"redis.url", "redis.password_env"}},
		{"a base URL with a path that is none", "providers: {hunter: {base_url: api.hunter.io}}", nil, []string{"base_url", "https://"}},
		{"a ratio without calls", "providers: {hunter: {circuit: {ratio: 0.5}}}", nil, []string{"circuit.min_calls"}},
		{"a longest cooldown that is shorter", "providers: {hunter: {circuit: {max_cooldown: 1s}}}", nil, []string{"circuit.max_cooldown", "30s"}},
		{"a negative age", "cache: {negative: -1h}", nil, []string{":1", "cache.negative", "24h, or 0"}},
		{"a provider's negative age", "providers: {hunter: {cache: {positive: -1h}}}", nil, []string{":1", "providers.hunter.cache.positive", "24h, or 0"}},
		{"an age without a unit", "cache: {positive: 30}", nil, []string{":1", "cache.positive", "unit"}},
		{"a wrong log level", "log: {level: loud}", nil, []string{"log.level", "debug, info"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.file, tt.environ...)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the message lacks %q: %s", part, err)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the message quotes a password: %s", err)
			}
		})
	}
}

func TestAProviderHasTheAgesOfAllUnlessItHasItsOwn(t *testing.T) {
	c, err := load(t, `
cache: {positive: 12h, negative: 0}
providers: {hunter: {cache: {negative: 1h}}}
`, "BACKSTOP_PROVIDERS__CLEARBIT__CACHE__POSITIVE=0")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Ages{"clearbit": c.Providers["clearbit"].Cache, "hunter": c.Providers["hunter"].Cache}
	want := map[string]Ages{"clearbit": {}, "hunter": {Positive: 12 * time.Hour, Negative: time.Hour}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestANegativeAgeOfAllIsReportedOnce(t *testing.T) {
	_, err := load(t, "cache: {positive: -1h}")
	if err == nil || strings.Contains(err.Error(), "providers.") {
		t.Errorf("got %v", err)
	}
}

func TestTheSecretOfTheAnswersIsNoKeyAndNotTooShort(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("a secret of twenty-five..\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, file, variable, want, err string }{
		{"none", "", "", "", ""},
		{"of the usual variable", "", "0123456789abcdef", "0123456789abcdef", ""},
		{"of a file", "cache: {secret_file: " + file + "}", "0123456789abcdef", "a secret of twenty-five..", ""},
		{"too short", "", "hunter2", "", "16 or more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(SecretEnv, tt.variable)
			c, err := load(t, tt.file, SecretEnv+"="+tt.variable)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.CacheSecret()
			if got != tt.want || (err == nil) != (tt.err == "") {
				t.Errorf("got %q, %v", got, err)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("the message is %v", err)
			}
		})
	}
}

func TestAllProblemsAreReportedTogether(t *testing.T) {
	_, err := load(t, "chain: []\nretry: {max: -1}\n")
	if err == nil || strings.Count(err.Error(), "\n") < 1 {
		t.Errorf("got %v", err)
	}
}

func TestAMissingFileThatWasNamedIsAnError(t *testing.T) {
	_, _, err := Load(Source{Facts: facts, File: filepath.Join(t.TempDir(), "none.yaml")})
	if err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestSecretsComeFromVariablesAndFilesAndAreNotShown(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte(" k-123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MY_REDIS_PASSWORD", "pa/ss@word")
	c, err := load(t, `
redis: {url: "redis://h1:6379,h2:6379/0", password_env: MY_REDIS_PASSWORD}
ledger: {url: "postgres://app@db/backstop?sslmode=disable", password_file: `+key+`}
providers: {clearbit: {api_key_file: `+key+`}}
`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.RedisURL(); err != nil || got != "redis://:pa%2Fss%40word@h1:6379,h2:6379/0" {
		t.Errorf("redis: %q, %v", got, err)
	}
	if got, err := c.LedgerURL(); err != nil || got != "postgres://app:k-123@db/backstop?sslmode=disable" {
		t.Errorf("ledger: %q, %v", got, err)
	}
	if got, err := c.APIKey("clearbit"); err != nil || got != "k-123" {
		t.Errorf("key: %q, %v", got, err)
	}
	c.Redis.URL = "redis://:top-secret@h:6379/0"
	b, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); strings.Contains(s, "top-secret") || strings.Contains(s, "k-123") || !strings.Contains(s, "xxxxx") || !strings.Contains(s, `"timeout": "5s"`) {
		t.Errorf("shown: %s", s)
	}
}

func TestAPasswordInAURLIsFoundHoweverTheURLIsWritten(t *testing.T) {
	for url, want := range map[string]string{
		"redis://:pw@h:1/0":                     "redis://:xxxxx@h:1/0",
		"redis-sentinel://u:pw@s1,s2?master=m":  "redis-sentinel://u:xxxxx@s1,s2?master=m",
		"postgres://app:p%40w@db?sslmode=allow": "postgres://app:xxxxx@db?sslmode=allow",
		"redis://h1:1,h2:2":                     "redis://h1:1,h2:2",
		"sqlite:///var/lib/ledger.db":           "sqlite:///var/lib/ledger.db",
		"pw":                                    "(not a URL)",
	} {
		if got := (Config{Redis: Redis{URL: url}}).Redacted().Redis.URL; got != want {
			t.Errorf("%s is shown as %s", url, got)
		}
	}
}

func TestTheShownConfigurationCanBeReadInAgain(t *testing.T) {
	c, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := load(t, string(b))
	if err != nil {
		t.Fatalf("%v in\n%s", err, b)
	}
	if diff := cmp.Diff(c, again); diff != "" {
		t.Errorf("(-shown +read)\n%s", diff)
	}
}
