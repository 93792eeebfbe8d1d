package e2e

import (
	"testing"
	"time"

	"backstop/lead"
	"backstop/ops"
	"backstop/providers/sandbox"
	"backstop/testkit"
	kit "backstop/testkit/fleet"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	workerPackage  = kit.Worker
	enqueuePackage = kit.Enqueue
	troubleScript  = kit.TroubleScript
)

// troubleEnv lets the retries of single leads be seen.
var troubleEnv = kit.TroubleEnv()

// A fleet is the servers and processes of one test.
type fleet struct {
	kit     *kit.Fleet
	t       *testing.T
	env     []string // of every command; a test may add to it
	redis   *testkit.RedisProcess
	sandbox string // its URL
}

// newFleet starts Redis and a sandbox with the script, and prepares the
// environment of the commands. ledger is "sqlite" or "postgres".
func newFleet(t *testing.T, ledger, script string, env ...string) *fleet {
	t.Helper()
	k := kit.New(t, kit.Options{Ledger: ledger, Script: script, Env: env})
	return &fleet{kit: k, t: t, env: k.Env, redis: k.Redis, sandbox: k.Sandbox}
}

// with is the kit's fleet with what the test has added to the environment.
func (f *fleet) with() *kit.Fleet {
	f.kit.Env = f.env
	return f.kit
}

func (f *fleet) write(name, content string) string {
	f.t.Helper()
	return f.kit.Write(name, content)
}

// start starts a command without waiting for it.
func (f *fleet) start(pkg string, args ...string) *testkit.Process {
	f.t.Helper()
	return f.with().Start(pkg, args...)
}

// run runs a command to its end and returns its standard output.
func (f *fleet) run(wantCode int, pkg string, args ...string) string {
	f.t.Helper()
	return f.with().Run(wantCode, pkg, args...)
}

// workers starts n replicas and waits until they work.
func (f *fleet) workers(n int, args ...string) []*testkit.Process {
	f.t.Helper()
	return f.with().Workers(n, args...)
}

// audit runs worker audit and returns its books.
func (f *fleet) audit() ops.AuditCounts {
	f.t.Helper()
	return f.with().Audit()
}

// settled waits until no lead is open.
func (f *fleet) settled(within time.Duration) ops.AuditCounts {
	f.t.Helper()
	return f.with().WaitSettled(within)
}

// outcomes exports all outcomes, by source ID.
func (f *fleet) outcomes() map[string]lead.Outcome {
	f.t.Helper()
	all := map[string]lead.Outcome{}
	for _, o := range f.with().Outcomes() {
		if _, twice := all[o.SourceID]; twice {
			f.t.Errorf("lead %s is exported twice", o.SourceID)
		}
		all[o.SourceID] = o
	}
	return all
}

// books are what the sandbox counted itself.
func (f *fleet) books() map[string]sandbox.Book {
	f.t.Helper()
	return f.kit.Books()
}

func decode[T any](t *testing.T, s string) T {
	t.Helper()
	return kit.Decode[T](t, s)
}

// csvOf makes a file of leads with one in so many of each kind of trouble.
func csvOf(n int) string { return kit.CSV(n) }

// kindOf is the kind of trouble with the i-th lead of [csvOf].
func kindOf(i int) string { return kit.KindOf(i) }

// stopped sends SIGTERM to a worker and waits for its graceful end.
func stopped(t *testing.T, p *testkit.Process) {
	t.Helper()
	kit.Stop(t, p)
}
