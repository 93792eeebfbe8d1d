package fleet

import (
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"backstop/testkit"
)

// The import paths of the commands.
const (
	Worker  = "backstop/cmd/worker"
	Enqueue = "backstop/cmd/enqueue"
)

// The kinds of ledger.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Options say what a fleet is made of.
type Options struct {
	Ledger string // SQLite, Postgres, or the URL of a ledger; SQLite by default
	// RedisURL is that of a Redis which the test brings. Without it the fleet starts
	// one of its own with the options in Redis.
	RedisURL string
	Redis    []testkit.RedisOption
	Script   string   // the sandbox's
	Env      []string // of every command, beside what the fleet sets itself
}

// A Fleet is the servers and processes of one test.
type Fleet struct {
	Dir     string                // working folder of every process
	Redis   *testkit.RedisProcess // nil if the test brought its own
	Ledger  string                // its URL
	Sandbox string                // its URL

	// Env is every command's environment, and WorkerEnv what the workers have
	// beside it: proxies, for instance, that the test's own commands go around. A
	// test may add to both; of two values the last counts.
	Env, WorkerEnv []string

	tb      testing.TB
	workers []*testkit.Process // all that ever ran
}

// New starts Redis and a sandbox with the script, and prepares the environment of
// the commands.
func New(tb testing.TB, o Options) *Fleet {
	tb.Helper()
	f := &Fleet{tb: tb, Dir: tb.TempDir(), Ledger: o.Ledger}
	switch o.Ledger {
	case "", SQLite:
		f.Ledger = "sqlite://" + filepath.Join(f.Dir, "data", "ledger.db")
	case Postgres:
		f.Ledger = testkit.Postgres(tb)
	}
	if o.RedisURL == "" {
		f.Redis = testkit.RedisServer(tb, o.Redis...)
		o.RedisURL = f.Redis.URL()
	}
	script := f.Write("script.yaml", o.Script)
	s := testkit.Start(tb, testkit.Command{Package: Worker, Dir: f.Dir,
		Args: []string{"sandbox", "--listen", "127.0.0.1:0", "--script", script}})
	f.Sandbox = s.WaitLine(regexp.MustCompile(`^listening on (\S+)`), 30*time.Second)[1]
	f.Env = append([]string{
		"BACKSTOP_REDIS__URL=" + o.RedisURL,
		"BACKSTOP_LEDGER__URL=" + f.Ledger,
		"BACKSTOP_WORKER__ADMIN=127.0.0.1:0",
		"BACKSTOP_PROVIDERS__CLEARBIT__BASE_URL=" + f.Sandbox + "/clearbit",
		"BACKSTOP_PROVIDERS__HUNTER__BASE_URL=" + f.Sandbox + "/hunter",
		"CLEARBIT_API_KEY=test-key-clearbit",
		"HUNTER_API_KEY=test-key-hunter",
	}, o.Env...)
	return f
}

// Write writes a file into the fleet's folder and returns its path.
func (f *Fleet) Write(name, content string) string {
	f.tb.Helper()
	path := filepath.Join(f.Dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.tb.Fatal(err)
	}
	return path
}

// Start starts a command without waiting for it.
func (f *Fleet) Start(pkg string, args ...string) *testkit.Process {
	f.tb.Helper()
	return testkit.Start(f.tb, testkit.Command{Package: pkg, Args: args, Env: f.Env, Dir: f.Dir})
}

// Run runs a command to its end, which must come with the exit code wantCode, and
// returns its standard output.
func (f *Fleet) Run(wantCode int, pkg string, args ...string) string {
	f.tb.Helper()
	p := f.Start(pkg, args...)
	if code := p.Wait(2 * time.Minute); code != wantCode {
		f.tb.Fatalf("%v ended with %d, not %d\n%s%s", args, code, wantCode, p.Stdout(), p.Stderr())
	}
	return p.Stdout()
}

var started = regexp.MustCompile(`"event":"started"`)

// Workers starts n replicas and waits until they work.
func (f *Fleet) Workers(n int, args ...string) []*testkit.Process {
	f.tb.Helper()
	var all []*testkit.Process
	for range n {
		all = append(all, testkit.Start(f.tb, testkit.Command{
			Package: Worker, Args: append([]string{"run"}, args...), Dir: f.Dir, Env: append(f.Env[:len(f.Env):len(f.Env)], f.WorkerEnv...),
		}))
	}
	f.workers = append(f.workers, all...)
	for _, p := range all {
		p.WaitLine(started, 30*time.Second)
	}
	return all
}

// Stop sends SIGTERM to a worker and waits for its graceful end.
func Stop(tb testing.TB, worker *testkit.Process) {
	tb.Helper()
	worker.Signal(syscall.SIGTERM)
	if code := worker.Wait(30 * time.Second); code != 0 {
		tb.Errorf("a worker ended with %d after SIGTERM", code)
	}
}

// All are the workers that Workers has started so far, also those that have ended.
func (f *Fleet) All() []*testkit.Process { return append([]*testkit.Process(nil), f.workers...) }
