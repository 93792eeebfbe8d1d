package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/testkit"
)

func TestConfigCheck(t *testing.T) {
	key := "CLEARBIT_API_KEY=top-secret"
	for _, tt := range []struct {
		name, file string
		env        []string
		args       string
		code       int
		stdout     []string // parts of it
		stderr     []string
	}{
		{"prints what is in force", "retry: {max: 1}", []string{key, "BACKSTOP_REDIS__URL=redis://:hunter2@h:6379/0"}, "config check", 0,
			[]string{"max: 1", "base: 1s", "redis://:xxxxx@h:6379/0", "api_key_env: CLEARBIT_API_KEY"}, []string{`"variable":"HUNTER_API_KEY"`}},
		{"as JSON", "", []string{key}, "config check --json", 0, []string{`"base": "1s"`, `"positive": "24h0m0s"`}, nil},
		{"warns of an old name once", "answers: {positive: 1h}\n", []string{key}, "config check", 0,
			[]string{"positive: 1h0m0s"}, []string{`"variable":"HUNTER_API_KEY"`, `{"level":"warn","event":"config","time":`, "backstop.yaml:1: answers: was renamed: write cache"}},
		{"finds an unknown key", "retry: {maximum: 1}", []string{key}, "config check", 2, nil, []string{"backstop.yaml:1", "retry.maximum"}},
		{"finds an unknown variable", "", []string{key, "BACKSTOP_WORKER_CONCURRENCY=3"}, "config check", 2, nil, []string{"did you mean BACKSTOP_WORKER__CONCURRENCY?"}},
		{"wants a key", "", nil, "config check", 2, nil, []string{"CLEARBIT_API_KEY or HUNTER_API_KEY"}},
		{"wants the file that is named", "", []string{key}, "config check --config none.yaml", 2, nil, []string{"none.yaml"}},
		{"takes no argument", "", nil, "config check now", 2, nil, []string{`unknown command "now"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setUp(t, tt.env...)
			if tt.file != "" {
				testkit.NoError(t, os.WriteFile("backstop.yaml", []byte(tt.file), 0o600))
			}
			got := run(t.Context(), strings.Fields(tt.args)...)
			if got.code != tt.code {
				t.Errorf("exit %d: %s", got.code, got.stderr)
			}
			for _, part := range tt.stdout {
				if !strings.Contains(got.stdout, part) {
					t.Errorf("%q is missing in\n%s", part, got.stdout)
				}
			}
			for _, part := range tt.stderr {
				if n := strings.Count(got.stderr, part); n != 1 {
					t.Errorf("%q is there %d times in\n%s", part, n, got.stderr)
				}
			}
			if all := got.stdout + got.stderr; strings.Contains(all, "hunter2") || strings.Contains(all, "top-secret") {
				t.Errorf("a secret is shown: %s", all)
			}
		})
	}
}

func TestHealthIsThatOfTheAdminServer(t *testing.T) {
	status, body := http.StatusOK, `{"status":"ready"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // the test sees what arrives
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	addr := strings.TrimPrefix(server.URL, "http://")
	setUp(t, "BACKSTOP_WORKER__ADMIN="+addr)

	if got := run(t.Context(), "health"); got.code != 0 || got.stdout != body+"\n" {
		t.Errorf("ready: exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
	status, body = http.StatusServiceUnavailable, `{"redis":"gone"}`
	if got := run(t.Context(), "health", "--admin", addr); got.code != 1 || got.stderr != "worker: the worker is not ready: {\"redis\":\"gone\"}\n" {
		t.Errorf("not ready: exit %d, %s", got.code, got.stderr)
	}
	for args, code := range map[string]int{"health --admin 127.0.0.1:1": 1, "health --admin 9090": 2, "health --admin=": 2} {
		if got := run(t.Context(), strings.Fields(args)...); got.code != code || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %s", args, got.code, got.stderr)
		}
	}
}

func TestTheSandboxServesUntilItIsStoppedAndThenPrintsItsBooks(t *testing.T) {
	setUp(t)
	testkit.NoError(t, os.WriteFile("script.yaml", []byte("known: {hunter: 0}\n"), 0o600))
	addr := testkit.FreeAddr(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() { ended <- run(ctx, "sandbox", "--listen", addr, "--script", "script.yaml") }()
	var client http.Client
	defer client.CloseIdleConnections()
	testkit.Eventually(t, soon, "the sandbox answers", func() bool {
		resp, err := client.Get("http://" + addr + "/hunter/v2/email-verifier?email=a@x.example&api_key=k")
		return err == nil && resp.Body.Close() == nil
	})
	client.CloseIdleConnections()
	stop()
	got := <-ended
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	if got.code != 0 || lines[0] != "BACKSTOP_PROVIDERS__CLEARBIT__BASE_URL=http://"+addr+"/clearbit" || !strings.HasPrefix(lines[len(lines)-2], "listening on http://"+addr) {
		t.Errorf("exit %d, printed %q, said %s", got.code, lines[:len(lines)-1], got.stderr)
	}
	var books sandbox.Books
	testkit.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &books))
	testkit.Equal(t, "calls of hunter", books.Providers["hunter"].Calls, 1)
}

func TestAWorkerDrainsOnPartsOfItsOwn(t *testing.T) {
	setUp(t, "BACKSTOP_REDIS__URL=redis://127.0.0.1:0/0", "BACKSTOP_WORKER__ADMIN=127.0.0.1:0", "CLEARBIT_API_KEY=k")
	got := run(t.Context(), "run", "--embedded", "--drain")
	if got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, `"event":"started"`) || !strings.Contains(got.stderr, `"event":"stopped"`) {
		t.Errorf("exit %d, printed %q, said %s", got.code, got.stdout, got.stderr)
	}
	if again := run(t.Context(), "audit"); again.code != 0 { // the ledger is there
		t.Errorf("audit: exit %d, %s", again.code, again.stderr)
	}
}

// Exit 1 says that something is wrong, 2 that the use or the configuration is.
func TestHowACommandEndsThatCannotDoItsWork(t *testing.T) {
	key, noLedger := "CLEARBIT_API_KEY=k", "BACKSTOP_LEDGER__URL=postgres://app:hunter2@127.0.0.1:1/x"
	for _, tt := range []struct {
		name string
		env  []string
		args string
		code int
		says string
	}{
		{"run without Redis", []string{key, noRedis}, "run", 1, "BACKSTOP_REDIS__URL"},
		{"run without a ledger", []string{key, noRedis, noLedger}, "run", 1, "BACKSTOP_LEDGER__URL"},
		{"report without a ledger", []string{noLedger}, "report", 1, "BACKSTOP_LEDGER__URL"},
		{"audit without a ledger", []string{noLedger}, "audit", 1, "BACKSTOP_LEDGER__URL"},
		{"credits without a ledger", []string{noLedger}, "credits", 1, "BACKSTOP_LEDGER__URL"},
		{"credits with a cap, without Redis", []string{noRedis, "BACKSTOP_PROVIDERS__HUNTER__CAPS__DAY=1"}, "credits", 1, "Redis"},
		{"audit of open leads without Redis", []string{noRedis, "OPEN=1"}, "audit", 1, "Redis"},
		{"circuits without Redis", []string{noRedis}, "circuits", 1, "Redis"},
		{"opening a circuit without Redis", []string{noRedis}, "circuits open hunter", 1, "Redis"},

		{"run without a key", []string{"BACKSTOP_REDIS__URL=redis://127.0.0.1:0"}, "run --embedded", 2, "CLEARBIT_API_KEY or HUNTER_API_KEY"},
		{"a part of its own for two Redis", []string{"BACKSTOP_REDIS__URL=redis-sentinel://s?master=m"}, "run --embedded", 2, "one address"},
		{"an admin address that is none", []string{key, "BACKSTOP_WORKER__ADMIN=9090"}, "run", 2, "worker.admin"},
		{"a circuit of an unknown provider", []string{"BACKSTOP_REDIS__URL=redis://" + "REDIS"}, "circuits open acme", 2, "clearbit"},
		{"a circuit of no provider", nil, "circuits open", 2, "arg"},
		{"an unknown subcommand", nil, "rum", 2, "rum"},
		{"an unknown flag", nil, "report --fast", 2, "--fast"},
		{"a time that is none", nil, "report --since yesterday", 2, "--since"},
		{"a demo of nothing", nil, "demo --leads 0", 2, "--leads"},
		{"a demo of a file that is not there", nil, "demo --input none.csv", 2, "none.csv"},
		{"a sandbox with a script that is not there", nil, "sandbox --script none.yaml", 2, "none.yaml"},
		{"a sandbox with a script that is none", nil, "sandbox --script script.yaml", 2, "script.yaml"},
		{"a sandbox at an address that is none", nil, "sandbox --listen 1", 2, "address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setUp(t, tt.env...)
			if strings.HasSuffix(os.Getenv("BACKSTOP_REDIS__URL"), "REDIS") {
				t.Setenv("BACKSTOP_REDIS__URL", testkit.Redis(t))
			}
			if os.Getenv("OPEN") != "" {
				fill(t, longAgo, func(l *ledger.Ledger) { accept(t, l, "a@x.example") })
			}
			testkit.NoError(t, os.WriteFile("script.yaml", []byte("latency: [1]\n"), 0o600))
			got := run(t.Context(), strings.Fields(tt.args)...)
			if got.code != tt.code || !strings.Contains(got.stderr, tt.says) || strings.Contains(got.stderr, "hunter2") {
				t.Errorf("exit %d, want %d and %q: %s", got.code, tt.code, tt.says, got.stderr)
			}
			people := 0
			for _, line := range strings.Split(strings.TrimSpace(got.stderr), "\n") {
				if strings.HasPrefix(line, "worker: ") { // not the log, and not a further line of an error
					people++
				}
			}
			if people != 1 {
				t.Errorf("%d lines for people: %s", people, got.stderr)
			}
		})
	}
}
