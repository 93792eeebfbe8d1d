package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"backstop/lead"
	"backstop/providers/sandbox"
	"backstop/tasks"
	"backstop/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	workerPackage  = "backstop/cmd/worker"
	enqueuePackage = "backstop/cmd/enqueue"
)

// A fleet is the servers and processes of one test.
type fleet struct {
	t       *testing.T
	dir     string // working folder of every process
	env     []string
	redis   *testkit.RedisProcess
	sandbox string // its URL
}

// newFleet starts Redis and a sandbox with the script, and prepares the
// environment of the commands. ledger is "sqlite" or "postgres".
func newFleet(t *testing.T, ledger, script string, env ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir(), redis: testkit.RedisServer(t)}
	ledgerURL := "sqlite://" + filepath.Join(f.dir, "data", "ledger.db")
	if ledger == "postgres" {
		ledgerURL = testkit.Postgres(t)
	}
	scriptFile := f.write("script.yaml", script)
	s := testkit.Start(t, testkit.Command{Package: workerPackage, Dir: f.dir,
		Args: []string{"sandbox", "--listen", "127.0.0.1:0", "--script", scriptFile}})
	f.sandbox = s.WaitLine(regexp.MustCompile(`^listening on (\S+)`), 30*time.Second)[1]
	f.env = append([]string{
		"BACKSTOP_REDIS__URL=" + f.redis.URL(),
		"BACKSTOP_LEDGER__URL=" + ledgerURL,
		"BACKSTOP_WORKER__ADMIN=127.0.0.1:0",
		"BACKSTOP_PROVIDERS__CLEARBIT__BASE_URL=" + f.sandbox + "/clearbit",
		"BACKSTOP_PROVIDERS__HUNTER__BASE_URL=" + f.sandbox + "/hunter",
		"CLEARBIT_API_KEY=test-key-clearbit",
		"HUNTER_API_KEY=test-key-hunter",
	}, env...)
	return f
}

func (f *fleet) write(name, content string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// start starts a command without waiting for it.
func (f *fleet) start(pkg string, args ...string) *testkit.Process {
	f.t.Helper()
	return testkit.Start(f.t, testkit.Command{Package: pkg, Args: args, Env: f.env, Dir: f.dir})
}

// run runs a command to its end and returns its standard output.
func (f *fleet) run(wantCode int, pkg string, args ...string) string {
	f.t.Helper()
	p := f.start(pkg, args...)
	if code := p.Wait(2 * time.Minute); code != wantCode {
		f.t.Fatalf("%v ended with %d, not %d\n%s%s", args, code, wantCode, p.Stdout(), p.Stderr())
	}
	return p.Stdout()
}

// workers starts n replicas and waits until they work.
func (f *fleet) workers(n int, args ...string) []*testkit.Process {
	f.t.Helper()
	var all []*testkit.Process
	for range n {
		all = append(all, f.start(workerPackage, append([]string{"run"}, args...)...))
	}
	for _, p := range all {
		p.WaitLine(regexp.MustCompile(`"event":"started"`), 30*time.Second)
	}
	return all
}

// audit runs worker audit and returns its books.
func (f *fleet) audit() tasks.Books {
	f.t.Helper()
	return decode[tasks.Books](f.t, f.run(0, workerPackage, "audit", "--json"))
}

// settled waits until no lead is open. On the way there some may be unaccounted
// for, until the reconciler has found them.
func (f *fleet) settled(within time.Duration) tasks.Books {
	f.t.Helper()
	testkit.Eventually(f.t, within, "no lead is open", func() bool {
		p := f.start(workerPackage, "audit", "--json")
		code := p.Wait(time.Minute)
		return (code == 0 || code == 1) && decode[tasks.Books](f.t, p.Stdout()).Open == 0
	})
	return f.audit()
}

// outcomes exports all outcomes, by source ID.
func (f *fleet) outcomes() map[string]lead.Outcome {
	f.t.Helper()
	all := map[string]lead.Outcome{}
	lines := bufio.NewScanner(strings.NewReader(f.run(0, enqueuePackage, "outcomes", "--format", "jsonl")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		o := decode[lead.Outcome](f.t, lines.Text())
		if _, twice := all[o.SourceID]; twice {
			f.t.Errorf("lead %s is exported twice", o.SourceID)
		}
		all[o.SourceID] = o
	}
	if err := lines.Err(); err != nil {
		f.t.Fatal(err)
	}
	return all
}

// books are what the sandbox counted itself.
func (f *fleet) books() map[string]sandbox.Book {
	f.t.Helper()
	resp, err := http.Get(f.sandbox + "/books")
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return decode[sandbox.Books](f.t, string(b)).Providers
}

func decode[T any](t *testing.T, s string) T {
	t.Helper()
	var v T
	d := json.NewDecoder(bytes.NewReader([]byte(s)))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %.300s", err, s)
	}
	return v
}

// csvOf makes a file of leads with one in so many of each kind of trouble, which
// is told by the address.
func csvOf(n int) string {
	var b strings.Builder
	b.WriteString("\ufeffRecord ID,Email,First Name,Last Name,Company name\r\n")
	for i := range n {
		fmt.Fprintf(&b, "R-%05d,%s.%05d@firm%03d.example,Ann,Lee%d,Firm %d\r\n", i, kindOf(i), i, i%500, i, i%500)
	}
	return b.String()
}

// kindOf is the kind of trouble with the i-th lead of [csvOf].
func kindOf(i int) string {
	switch {
	case i%50 == 7:
		return "down" // Clearbit answers 503, Hunter does not know it
	case i%100 == 13:
		return "hang" // Clearbit hangs, Hunter knows it
	case i%20 == 3:
		return "nobody" // neither knows it
	case i%40 == 5:
		return "blip" // Clearbit fails once
	case i%20 == 11:
		return "second" // only Hunter knows it
	default:
		return "fine"
	}
}

// troubleScript makes the kinds of [kindOf] come true.
const troubleScript = `
latency: {min: 5ms, max: 20ms}
faults:
  - {provider: clearbit, match: "down.*", status: 503}
  - {provider: hunter,   match: "down.*", status: 404}
  - {provider: clearbit, match: "hang.*", kind: hang}
  - {provider: clearbit, match: "nobody.*", status: 404}
  - {provider: hunter,   match: "nobody.*", status: 404}
  - {provider: clearbit, match: "blip.*", calls: 1, status: 500}
  - {provider: clearbit, match: "second.*", status: 404}
`

// troubleEnv lets the retries of single leads be seen: no circuit opens, and no
// limit is felt.
var troubleEnv = []string{
	"BACKSTOP_PROVIDERS__CLEARBIT__CIRCUIT__FAILURES=1000000",
	"BACKSTOP_PROVIDERS__HUNTER__CIRCUIT__FAILURES=1000000",
	"BACKSTOP_PROVIDERS__CLEARBIT__LIMITS=[]",
	"BACKSTOP_PROVIDERS__HUNTER__LIMITS=[]",
	"BACKSTOP_PROVIDERS__CLEARBIT__TIMEOUT=2s",
}

// stopped sends SIGTERM to a worker and waits for its graceful end.
func stopped(t *testing.T, p *testkit.Process) {
	t.Helper()
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(30 * time.Second); code != 0 {
		t.Errorf("a worker ended with %d after SIGTERM", code)
	}
}
