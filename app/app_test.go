package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"backstop/config"
	"backstop/providers/vendors"
	"backstop/testkit"
)

// newApp makes an App of an environment alone, and closes it with the test.
func newApp(t *testing.T, log io.Writer, environ ...string) *App {
	t.Helper()
	t.Chdir(t.TempDir())
	cfg, _, err := config.Load(Source("", environ))
	testkit.NoError(t, err)
	a, err := FromConfig(cfg, log)
	testkit.NoError(t, err)
	t.Cleanup(func() { testkit.NoError(t, a.Close()) })
	return a
}

func isUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}

func TestEveryProviderIsKnownToTheConfiguration(t *testing.T) {
	a := newApp(t, io.Discard)
	for _, name := range vendors.Names() {
		p, ok := a.Config.Providers[name]
		if !ok || !strings.HasPrefix(p.BaseURL, "https://") || p.APIKeyEnv == "" || len(p.Limits) == 0 || p.Timeout <= 0 || p.Circuit.Failures < 1 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if got := a.Providers(); !slices.Equal(got, []string{"clearbit", "hunter"}) {
		t.Errorf("asked by default: %q", got)
	}
}

func TestNamesInTheConfigurationAreChecked(t *testing.T) {
	for kv, want := range map[string]string{
		"BACKSTOP_WANT=person.titel":                          "person.title",
		"BACKSTOP_OVERWRITE=title":                            "person.title",
		"BACKSTOP_CHAIN=clearbit,acme":                        "hunter",
		"BACKSTOP_PROVIDERS__HUNTER__FILLS=titel":             "person.title",
		"BACKSTOP_PROVIDERS__HUNTER__ONLY_IF=has_domian":      "has_domain",
		"BACKSTOP_PROVIDERS__HUNTER__PRICES={finder: 1}":      "email-finder",
		"BACKSTOP_PROVIDERS__ACME__DESCRIPTION=no/where.yaml": "no/where.yaml",
	} {
		t.Run(kv, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if _, _, err := config.Load(Source("", []string{kv})); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v; it lacks %q", err, want)
			}
		})
	}
}

func TestAProviderWithoutAKeyIsLeftOutWithAWarning(t *testing.T) {
	t.Setenv("HUNTER_API_KEY", "")
	t.Setenv("CLEARBIT_API_KEY", "k")
	var log bytes.Buffer
	a := newApp(t, &log)
	testkit.NoError(t, a.CheckKeys())
	if n := strings.Count(log.String(), `"level":"warn"`); n != 1 || !strings.Contains(log.String(), `"variable":"HUNTER_API_KEY"`) {
		t.Errorf("%d warnings: %s", n, log.String())
	}
	t.Setenv("CLEARBIT_API_KEY", "")
	if err := a.CheckKeys(); !isUsage(err) || !strings.Contains(err.Error(), "CLEARBIT_API_KEY or HUNTER_API_KEY") {
		t.Errorf("without any key: %v", err)
	}
}

func TestWhatIsWrongWithASecretIsBadConfiguration(t *testing.T) {
	t.Setenv("CLEARBIT_API_KEY", "k")
	none := filepath.Join(t.TempDir(), "none")
	for name, kv := range map[string]string{
		"a key's file":           "BACKSTOP_PROVIDERS__CLEARBIT__API_KEY_FILE=" + none,
		"Redis' password's file": "BACKSTOP_REDIS__PASSWORD_FILE=" + none,
		"the ledger's password":  "BACKSTOP_LEDGER__PASSWORD_FILE=" + none,
		"the cache's secret":     "BACKSTOP_CACHE__SECRET_FILE=" + none,
		"certificates to trust":  "BACKSTOP_HTTP__CA_FILE=" + none,
	} {
		t.Run(name, func(t *testing.T) {
			if err := newApp(t, io.Discard, kv).CheckKeys(); !isUsage(err) || !strings.Contains(err.Error(), "none") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAServerThatIsAwayIsNoBadConfiguration(t *testing.T) {
	for name, tt := range map[string]struct {
		kv   string
		open func(*App) error
		bad  bool
		says string
	}{
		"a Redis that refuses":        {"BACKSTOP_REDIS__URL=redis://127.0.0.1:1", func(a *App) error { return a.OpenRedis(t.Context()) }, false, "--embedded"},
		"a Redis URL that names none": {"BACKSTOP_REDIS__URL=redis-sentinel://s", func(a *App) error { return a.OpenRedis(t.Context()) }, true, "?master=NAME"},
		"a PostgreSQL that refuses":   {"BACKSTOP_LEDGER__URL=postgres://app:hunter2@127.0.0.1:1/x", func(a *App) error { return a.OpenLedger(t.Context()) }, false, "BACKSTOP_LEDGER__URL"},
		"a ledger URL that is none":   {"BACKSTOP_LEDGER__URL=postgres://h/x?sslmode=some", func(a *App) error { return a.OpenLedger(t.Context()) }, true, "BACKSTOP_LEDGER__URL"},
		"a Redis that is not asked":   {"BACKSTOP_REDIS__URL=redis://127.0.0.1:1", func(a *App) error { return a.ConnectRedis() }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.open(newApp(t, io.Discard, tt.kv))
			if tt.says == "" {
				testkit.NoError(t, err)
				return
			}
			if err == nil || isUsage(err) != tt.bad || !strings.Contains(err.Error(), tt.says) || strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("bad use: %t, %v", isUsage(err), err)
			}
		})
	}
}

func TestTheEmbeddedRedis(t *testing.T) {
	a := newApp(t, io.Discard, "BACKSTOP_REDIS__URL=redis://127.0.0.1:0/0")
	testkit.NoError(t, a.StartEmbeddedRedis())
	testkit.NoError(t, a.OpenRedis(t.Context()))
	testkit.NoError(t, a.Redis.Set(t.Context(), "short", "1", 50*time.Millisecond).Err())
	testkit.Eventually(t, 5*time.Second, "a key expires by itself", func() bool {
		return a.Redis.Exists(t.Context(), "short").Val() == 0
	})

	b := newApp(t, io.Discard, "BACKSTOP_REDIS__URL="+a.Config.Redis.URL)
	if err := b.StartEmbeddedRedis(); !isUsage(err) || !strings.Contains(err.Error(), "leave --embedded out") {
		t.Errorf("at an address that is taken: %v", err)
	}
	testkit.NoError(t, b.OpenRedis(t.Context())) // others find the first one there
	addr := strings.TrimSuffix(strings.TrimPrefix(a.Config.Redis.URL, "redis://"), "/0")
	testkit.NoError(t, a.Close())
	if conn, err := net.Dial("tcp", addr); err == nil {
		_ = conn.Close()
		t.Error("it is still there after Close")
	}
	for _, url := range []string{"redis-sentinel://h?master=m", "rediss://127.0.0.1:0"} {
		if err := newApp(t, io.Discard, "BACKSTOP_REDIS__URL="+url).StartEmbeddedRedis(); !isUsage(err) {
			t.Errorf("at %s: %v", url, err)
		}
	}
}

func TestALogLine(t *testing.T) {
	var out bytes.Buffer
	log, err := newLog(config.Log{Level: "info", Format: "json"}, &out)
	testkit.NoError(t, err)
	log.Debug().Msg("not this")
	log.Info().Str("event", "started").Msg("this")
	var line map[string]string
	testkit.NoError(t, json.Unmarshal(out.Bytes(), &line))
	if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(line["time"]) || line["level"] != "info" || line["event"] != "started" || line["message"] != "this" {
		t.Errorf("got %s", out.String())
	}

	out.Reset()
	log, err = newLog(config.Log{Level: "debug", Format: "console"}, &out)
	testkit.NoError(t, err)
	log.Debug().Msg("for people")
	if text := out.String(); !regexp.MustCompile(`\d\d:\d\d:\d\d\.\d{3}`).MatchString(text) || !strings.Contains(text, "for people") || strings.Contains(text, "{") {
		t.Errorf("got %q", text)
	}
	if _, err := newLog(config.Log{Level: "loud"}, os.Stderr); !isUsage(err) {
		t.Errorf("a level that is none: %v", err)
	}
}
