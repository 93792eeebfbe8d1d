package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"backstop/testkit"
)

// A usage is one run of a command.
type usage struct {
	name string
	pkg  string
	args []string
	env  []string
	want []string // parts of the line
}

// TestBadUseIsOneClearLineAndExit2 runs the commands as somebody would who has
// made a mistake.
func TestBadUseIsOneClearLineAndExit2(t *testing.T) {
	redis := testkit.Redis(t)
	keys := []string{"CLEARBIT_API_KEY=k", "BACKSTOP_REDIS__URL=" + redis}
	tests := []usage{
		{"an unknown flag", workerPackage, []string{"run", "--fast"}, nil, []string{"--fast", "--help"}},
		{"an unknown subcommand", workerPackage, []string{"rum"}, nil, []string{"rum"}},
		{"an argument too many", workerPackage, []string{"audit", "now"}, nil, []string{"now"}},
		{"no file", enqueuePackage, []string{"file"}, nil, []string{"arg"}},
		{"a file that is not there", enqueuePackage, []string{"file", "none.csv"}, keys, []string{"none.csv"}},
		{"a folder for a file", enqueuePackage, []string{"file", "."}, keys, []string{"folder"}},
		{"a bad --map", enqueuePackage, []string{"file", "--map", "email", "x.csv"}, keys, []string{"FIELD=HEADER"}},
		{"an unknown format", enqueuePackage, []string{"outcomes", "--format", "xls"}, nil, []string{"xls", "csv, jsonl or table"}},
		{"an unknown status", enqueuePackage, []string{"outcomes", "--status", "done"}, nil, []string{"done", "partial"}},
		{"a bad time", enqueuePackage, []string{"outcomes", "--since", "yesterday"}, nil, []string{"--since", "24h"}},
		{"a configuration file that is not there", workerPackage, []string{"run", "--config", "none.yaml"}, nil, []string{"none.yaml"}},
		{"a wrong configuration key", workerPackage, []string{"config", "check"}, []string{"BACKSTOP_REDIS__ULR=x"}, []string{"BACKSTOP_REDIS__ULR", "url"}},
		{"an unknown field in want", workerPackage, []string{"config", "check"}, append(keys, "BACKSTOP_WANT=person.titel"), []string{"want", "person.titel", "person.title"}},
		{"a price of an endpoint that is none", workerPackage, []string{"config", "check"}, append(keys, "BACKSTOP_PROVIDERS__HUNTER__PRICES={email-verify: 1}"), []string{"hunter.prices.email-verify", "email-verifier"}},
		{"a cap without a price", workerPackage, []string{"config", "check"}, append(keys, "BACKSTOP_PROVIDERS__HUNTER__CREDITS=0", "BACKSTOP_PROVIDERS__HUNTER__CAPS__DAY=5"), []string{"hunter.caps", "hunter.credits"}},
		{"an unknown condition", workerPackage, []string{"config", "check"}, append(keys, "BACKSTOP_PROVIDERS__HUNTER__ONLY_IF=has_domian"), []string{"only_if", "has_domian", "has_domain"}},
		{"a CA file that is not there", workerPackage, []string{"config", "check"}, append(keys, "BACKSTOP_HTTP__CA_FILE=none.pem"), []string{"ca_file", "none.pem"}},
		{"somebody to forget who has no address", enqueuePackage, []string{"forget", "nobody"}, keys, []string{"email address"}},
		{"no API key at all", workerPackage, []string{"run"}, []string{"BACKSTOP_REDIS__URL=" + redis}, []string{"CLEARBIT_API_KEY", "HUNTER_API_KEY"}},
		{"an admin address that is taken", workerPackage, []string{"run"}, append(keys, "BACKSTOP_WORKER__ADMIN="+strings.TrimSuffix(strings.TrimPrefix(redis, "redis://"), "/0")), []string{"admin", "BACKSTOP_WORKER__ADMIN"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { endsWithOneLine(t, tt, 2) })
	}
}

func TestAServerThatIsAwayIsOneClearLineAndExit1(t *testing.T) {
	redis := testkit.Redis(t)
	keys := []string{"CLEARBIT_API_KEY=k", "BACKSTOP_REDIS__URL=" + redis}
	for _, tt := range []usage{
		{"a Redis that is not there", workerPackage, []string{"run"}, []string{"CLEARBIT_API_KEY=k", "BACKSTOP_REDIS__URL=redis://127.0.0.1:1/0"}, []string{"Redis", "BACKSTOP_REDIS__URL", "--embedded"}},
		{"a ledger that is not there", workerPackage, []string{"run"}, append(keys, "BACKSTOP_LEDGER__URL=postgres://app:hunter2@127.0.0.1:1/x"), []string{"ledger", "BACKSTOP_LEDGER__URL"}},
		{"a ledger that is no database", workerPackage, []string{"audit"}, append(keys, "BACKSTOP_LEDGER__URL=sqlite:///dev/null/x.db"), []string{"ledger"}},
	} {
		t.Run(tt.name, func(t *testing.T) { endsWithOneLine(t, tt, 1) })
	}
}

// endsWithOneLine runs a command that ends with the code and one line for people.
func endsWithOneLine(t *testing.T, tt usage, code int) {
	t.Helper()
	p := testkit.Start(t, testkit.Command{Package: tt.pkg, Args: tt.args, Env: tt.env})
	if got := p.Wait(time.Minute); got != code {
		t.Errorf("the exit code is %d, not %d", got, code)
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(p.Stderr()), "\n") {
		if !strings.HasPrefix(line, "{") { // log lines
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 {
		t.Errorf("%d lines: %q", len(lines), p.Stderr())
	}
	for _, part := range tt.want {
		if !strings.Contains(lines[len(lines)-1], part) {
			t.Errorf("the line lacks %q: %s", part, lines[len(lines)-1])
		}
	}
	if strings.Contains(p.Stderr(), "hunter2") {
		t.Errorf("a password is shown: %s", p.Stderr())
	}
}

func TestAMissingKeyDisablesThatProviderWithAWarning(t *testing.T) {
	f := newFleet(t, "sqlite", "{}")
	f.env = append(f.env, "CLEARBIT_API_KEY=")
	f.run(0, enqueuePackage, "file", f.write("leads.csv", "email\nann@one.example\n"))
	w := f.start(workerPackage, "run", "--drain")
	if code := w.Wait(time.Minute); code != 0 {
		t.Fatalf("ended with %d", code)
	}
	if !strings.Contains(w.Stderr(), "CLEARBIT_API_KEY") || !strings.Contains(w.Stderr(), `"level":"warn"`) {
		t.Errorf("no warning: %s", w.Stderr())
	}
	if b := f.books(); b["clearbit"].Calls != 0 || b["hunter"].Calls != 1 {
		t.Errorf("calls: %+v", b)
	}
}

func TestTheConfigurationIsShownWithoutSecrets(t *testing.T) {
	p := testkit.Start(t, testkit.Command{Package: workerPackage, Args: []string{"config", "check", "--json"}, Env: []string{
		"BACKSTOP_REDIS__URL=redis://:hunter2@127.0.0.1:6379/0", "CLEARBIT_API_KEY=top-secret",
	}})
	if code := p.Wait(time.Minute); code != 0 {
		t.Fatalf("ended with %d: %s", code, p.Stderr())
	}
	out := p.Stdout() + p.Stderr()
	if strings.Contains(out, "hunter2") || strings.Contains(out, "top-secret") || !strings.Contains(out, "CLEARBIT_API_KEY") {
		t.Errorf("shown: %s", out)
	}
}

func TestTheEmbeddedWorkerServesTheOtherCommands(t *testing.T) {
	f := newFleet(t, "sqlite", "{}")
	addr := testkit.FreeAddr(t)
	f.env = append(f.env, "BACKSTOP_REDIS__URL=redis://"+addr+"/0")
	f.workers(1, "--embedded")
	f.run(0, enqueuePackage, "file", f.write("leads.csv", "email\nann@one.example\nben@two.example\n"))
	if b := f.settled(time.Minute); b.Settled.Enriched != 2 {
		t.Errorf("got %+v", b)
	}
}

// The configuration in the README is one that can be used.
func TestTheConfigurationInTheREADMEIsValid(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("there is none")
	}
	f := newFleet(t, "sqlite", "{}")
	f.write("acme.yaml", fmt.Sprintf(acme, "https://api.acme.example"))
	shown := f.run(0, workerPackage, "config", "check", "--config", f.write("backstop.yaml", text))
	for _, part := range []string{"only_if:", "has_domain", "month: 20000", "min_likelihood: 6", "api.acme.example"} {
		if !strings.Contains(shown, part) {
			t.Errorf("what is in force lacks %q", part)
		}
	}
}
