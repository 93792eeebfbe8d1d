package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// serviceLinks are the variables that Kubernetes sets for a service.
func serviceLinks(service, ip string, port int, protocol string) []string {
	p, tcp := Prefix+strings.ToUpper(strings.ReplaceAll(service, "-", "_")), strings.ToUpper(protocol)
	url := fmt.Sprintf("%s://%s:%d", protocol, ip, port)
	link := fmt.Sprintf("%s_PORT_%d_%s", p, port, tcp)
	return []string{
		p + "_SERVICE_HOST=" + ip, fmt.Sprintf("%s_SERVICE_PORT=%d", p, port), fmt.Sprintf("%s_SERVICE_PORT_HTTP_ADMIN=%d", p, port),
		p + "_PORT=" + url, link + "=" + url, link + "_PROTO=" + protocol, fmt.Sprintf("%s_PORT=%d", link, port), link + "_ADDR=" + ip,
	}
}

func TestServiceLinksAreNoConfiguration(t *testing.T) {
	bare := func(links []string) (out []string) { // of the service "backstop" itself
		for _, kv := range links {
			out = append(out, Prefix+strings.TrimPrefix(kv, Prefix+"SELF_"))
		}
		return out
	}
	for name, environ := range map[string][]string{
		"a service named backstop":        bare(serviceLinks("self", "10.0.0.11", 8080, "tcp")),
		"a service of the workers":        serviceLinks("worker", "10.0.0.12", 9090, "tcp"),
		"a service of Redis":              serviceLinks("redis", "fd00::1", 6379, "tcp"),
		"a service named like a key":      serviceLinks("providers-hunter-timeout", "10.0.0.13", 80, "udp"),
		"a service that ends in a hyphen": serviceLinks("ledger--url", "10.0.0.14", 5432, "sctp"),
		"a container linked by Docker": {
			"BACKSTOP_NAME=/web/backstop", "BACKSTOP_PORT=tcp://172.17.0.5:8080", "BACKSTOP_PORT_8080_TCP=tcp://172.17.0.5:8080",
			"BACKSTOP_PORT_8080_TCP_ADDR=172.17.0.5", "BACKSTOP_PORT_8080_TCP_PORT=8080", "BACKSTOP_PORT_8080_TCP_PROTO=tcp", "BACKSTOP_ENV_PATH=/usr/bin",
			"BACKSTOP_WORKER_1_NAME=/web/backstop_worker_1", "BACKSTOP_WORKER_1_PORT=tcp://172.17.0.6:9090", "BACKSTOP_WORKER_1_ENV_A=two\nlines",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := load(t, "", append(slices.Clone(environ), "BACKSTOP_WORKER__CONCURRENCY=7")...)
			if err != nil || c.Worker.Concurrency != 7 {
				t.Errorf("got %v, concurrency %d", err, c.Worker.Concurrency)
			}
		})
	}
}

func TestAnUnknownVariableIsAnErrorThatNamesTheCure(t *testing.T) {
	for kv, want := range map[string]string{
		"BACKSTOP_REDIS_URL=redis://h:1":              "did you mean BACKSTOP_REDIS__URL?",
		"BACKSTOP_REDIS_PASSWORD_ENV=X":               "did you mean BACKSTOP_REDIS__PASSWORD_ENV?",
		"BACKSTOP_PROVIDERS__HUNTER_BASE_URL=http://": "did you mean BACKSTOP_PROVIDERS__HUNTER__BASE_URL?",
		"BACKSTOP_WORKER_ADMIN=127.0.0.1:1":           "did you mean BACKSTOP_WORKER__ADMIN?",
		"BACKSTOP_REDIS_PORT=6379":                    "use one of redis, ledger",
		"BACKSTOP_PORT=8080":                          "use one of redis, ledger",
		"BACKSTOP_REDIS__PORT=tcp":                    "use one of url, password_env",
		"BACKSTOP_SERVICE_PORT=http":                  "use one of redis, ledger",
		"BACKSTOP_SERVER_NAME=crm":                    "use one of redis, ledger",
		"BACKSTOP_RETRY={max: 1, bse: 2s}":            "use one of max, base, factor, budget",
		"BACKSTOP_PROVIDERS={hunter: {timout: 2s}}":   "timeout",
	} {
		t.Run(kv, func(t *testing.T) {
			name, _, _ := strings.Cut(kv, "=")
			_, err := load(t, "", kv)
			if err == nil || !strings.Contains(err.Error(), "environment variable "+name+": ") || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v; it lacks the variable or %q", err, want)
			}
		})
	}
}

// loadWarned loads a file and the environment, with the warnings.
func loadWarned(t *testing.T, content string, environ ...string) (Config, []string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backstop.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	c, warnings, err := Load(Source{File: file, Facts: facts, Environ: environ})
	var texts []string
	for _, w := range warnings {
		texts = append(texts, strings.TrimPrefix(w.Error(), filepath.Dir(file)+"/"))
	}
	return c, texts, err
}

func TestAnOldNameWorksForAVersionAndWarns(t *testing.T) {
	const ending = "; the next version does not know the old name"
	for name, tt := range map[string]struct {
		content string
		environ []string
		want    []string
	}{
		"in the file": {"answers: {positive: 1h}\nproviders:\n  hunter:\n    patience: 3s\n    answers: {negative: 2h}\n", nil, []string{
			"backstop.yaml:1: answers: was renamed: write cache",
			"backstop.yaml:4: providers.hunter.patience: was renamed: write providers.hunter.max_wait",
			"backstop.yaml:5: providers.hunter.answers: was renamed: write providers.hunter.cache",
		}},
		"in the environment": {"", []string{"BACKSTOP_ANSWERS__POSITIVE=1h", "BACKSTOP_PROVIDERS__HUNTER__PATIENCE=3s", "BACKSTOP_PROVIDERS__HUNTER__ANSWERS__NEGATIVE=2h"}, []string{
			"environment variable BACKSTOP_ANSWERS__POSITIVE: answers.positive: was renamed: write cache.positive, as a variable BACKSTOP_CACHE__POSITIVE",
			"environment variable BACKSTOP_PROVIDERS__HUNTER__PATIENCE: providers.hunter.patience: was renamed: write providers.hunter.max_wait, as a variable BACKSTOP_PROVIDERS__HUNTER__MAX_WAIT",
			"environment variable BACKSTOP_PROVIDERS__HUNTER__ANSWERS__NEGATIVE: providers.hunter.answers.negative: was renamed: write providers.hunter.cache.negative, as a variable BACKSTOP_PROVIDERS__HUNTER__CACHE__NEGATIVE",
		}},
		"in YAML in the environment": {"", []string{"BACKSTOP_ANSWERS={positive: 1h}", "BACKSTOP_PROVIDERS={hunter: {patience: 3s, cache: {negative: 2h}}}"}, []string{
			"environment variable BACKSTOP_ANSWERS: answers: was renamed: write cache, as a variable BACKSTOP_CACHE",
			"environment variable BACKSTOP_PROVIDERS: providers.hunter.patience: was renamed: write providers.hunter.max_wait, as a variable BACKSTOP_PROVIDERS__HUNTER__MAX_WAIT",
		}},
		"not at all": {"cache: {positive: 1h}\nproviders: {hunter: {max_wait: 3s}}", []string{"BACKSTOP_PROVIDERS__HUNTER__CACHE__NEGATIVE=2h"}, nil},
		"by the old name in the file, by the present one in the environment": {"answers: {positive: 5h}\nproviders: {hunter: {max_wait: 3s, cache: {negative: 2h}}}",
			[]string{"BACKSTOP_CACHE__POSITIVE=1h"}, []string{"backstop.yaml:1: answers: was renamed: write cache"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, warnings, err := loadWarned(t, tt.content, tt.environ...)
			if err != nil {
				t.Fatal(err)
			}
			if h := c.Providers["hunter"]; c.Cache.Positive != time.Hour || h.Cache.Positive != time.Hour || h.MaxWait != 3*time.Second || h.Cache.Negative != 2*time.Hour {
				t.Errorf("got %+v, %+v", c.Cache, h)
			}
			for i, w := range tt.want {
				tt.want[i] = w + ending
			}
			if !slices.Equal(warnings, tt.want) {
				t.Errorf("warnings %q\nwant     %q", warnings, tt.want)
			}
		})
	}
}

func TestARemovedKeyIsIgnoredWithAWarning(t *testing.T) {
	const what = "providers.hunter.circuit.min_replicas: was removed and does nothing: delete it; the next version does not know it"
	for name, tt := range map[string]struct {
		content string
		environ []string
		where   string
	}{
		"in the file":                {"providers:\n  hunter:\n    circuit: {min_replicas: 2, failures: 7}\n", nil, "backstop.yaml:3"},
		"in the environment":         {"providers: {hunter: {circuit: {failures: 7}}}", []string{"BACKSTOP_PROVIDERS__HUNTER__CIRCUIT__MIN_REPLICAS=two"}, "environment variable BACKSTOP_PROVIDERS__HUNTER__CIRCUIT__MIN_REPLICAS"},
		"in YAML in the environment": {"", []string{"BACKSTOP_PROVIDERS={hunter: {circuit: {failures: 7, min_replicas: 2}}}"}, "environment variable BACKSTOP_PROVIDERS"},
	} {
		t.Run(name, func(t *testing.T) {
			c, warnings, err := loadWarned(t, tt.content, tt.environ...)
			if err != nil || c.Providers["hunter"].Circuit.Failures != 7 {
				t.Errorf("got %v, %+v", err, c.Providers["hunter"].Circuit)
			}
			if want := []string{tt.where + ": " + what}; !slices.Equal(warnings, want) {
				t.Errorf("warnings %q\nwant     %q", warnings, want)
			}
		})
	}
}

func TestTheOldAndThePresentNameTogetherAreAnError(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		environ []string
		want    string
	}{
		"in the file":        {"cache: {positive: 1h}\nanswers: {positive: 2h}\n", nil, "backstop.yaml:1: cache: is given by its old name answers, too: keep cache"},
		"of a provider":      {"providers: {hunter: {patience: 1s, max_wait: 2s}}", nil, "providers.hunter.max_wait: is given by its old name patience, too"},
		"in the environment": {"", []string{"BACKSTOP_ANSWERS__POSITIVE=1h", "BACKSTOP_CACHE__POSITIVE=2h"}, "is given by its old name, too: keep BACKSTOP_CACHE__POSITIVE"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := loadWarned(t, tt.content, tt.environ...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
