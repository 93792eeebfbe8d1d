package e2e

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"backstop/resilience"
	"backstop/testkit"
)

// limitEnv lets each provider be called thirty times in ten seconds by all replicas
// together. The gate keeps a fiftieth of a window free for calls that reach the
// provider less evenly than they left: here 200 ms, which also a machine that is
// busy with other tests keeps.
var limitEnv = []string{
	"BACKSTOP_PROVIDERS__CLEARBIT__LIMITS=[{rate: 30, per: 10s}]",
	"BACKSTOP_PROVIDERS__HUNTER__LIMITS=[{rate: 30, per: 10s}]",
	"BACKSTOP_PROVIDERS__CLEARBIT__TIMEOUT=2s",
}

// The incident: three replicas, one allowance, and an API that drops the rest
// without an answer.
func TestThreeWorkersNeverExceedOneLimit(t *testing.T) {
	n := 90
	if testing.Short() {
		n = 50
	}
	f := newFleet(t, "sqlite", `
latency: {min: 20ms, max: 60ms}
limits:
  clearbit: {rate: 30, per: 10s, enforce: drop}
  hunter: {rate: 30, per: 10s, enforce: drop}
faults:
  - {provider: clearbit, match: "second.*", status: 404}
`, limitEnv...)
	f.run(0, enqueuePackage, "file", f.write("leads.csv", csvOf(n)))
	began := time.Now()
	f.workers(3)
	b := f.settled(3 * time.Minute)
	took := time.Since(began)
	if b.Settled.Enriched != int64(n) || b.Unaccounted != 0 {
		t.Errorf("the books: %+v", b)
	}
	for name, book := range f.books() {
		if book.Dropped != 0 || book.OverLimit != 0 || book.MostInAnyWindow > 30 {
			t.Errorf("%s dropped %d calls; there were %d in one window", name, book.Dropped, book.MostInAnyWindow)
		}
	}
	// Not a benchmark: it would take so long only if the allowance lay idle.
	if ideal := time.Duration(n) * time.Second / 3; took > 2*ideal+15*time.Second {
		t.Errorf("%d leads took %s", n, took)
	}
}

func TestACircuitIsOpenForEveryReplicaAndSwitchedByHand(t *testing.T) {
	f := newFleet(t, "sqlite", "faults: [{provider: clearbit, status: 503}]\n",
		"BACKSTOP_PROVIDERS__CLEARBIT__CIRCUIT__COOLDOWN=1h", "BACKSTOP_PROVIDERS__CLEARBIT__LIMITS=[]", "BACKSTOP_PROVIDERS__HUNTER__LIMITS=[]")
	workers := f.workers(3)
	f.run(0, enqueuePackage, "file", f.write("leads.csv", csvOf(60)))
	f.settled(time.Minute)
	for _, w := range workers {
		w.WaitLine(regexp.MustCompile(`"event":"circuit".*"to":"open"`), 10*time.Second)
	}
	own := 0
	for _, w := range workers {
		own += strings.Count(w.Stderr(), `"own":true`)
	}
	if own != 1 {
		t.Errorf("%d replicas say that they opened it", own)
	}
	before := f.books()["clearbit"].Calls
	f.run(0, enqueuePackage, "file", f.write("more.csv", strings.ReplaceAll(csvOf(60), "R-", "S-")))
	f.settled(time.Minute)
	if after := f.books()["clearbit"].Calls; after != before {
		t.Errorf("%d calls were made through an open circuit", after-before)
	}
	if c := f.circuit("clearbit"); c.State != "open" || c.Trips != 1 {
		t.Errorf("worker circuits: %+v", c)
	}
	f.run(0, workerPackage, "circuits", "close", "clearbit")
	if c := f.circuit("clearbit"); c.State != "closed" {
		t.Errorf("after close: %+v", c)
	}
	f.run(0, workerPackage, "circuits", "open", "hunter")
	if c := f.circuit("hunter"); c.State != "open" || !c.Manual {
		t.Errorf("after open: %+v", c)
	}
	if out := f.run(0, workerPackage, "circuits"); !strings.Contains(out, "opened by hand") {
		t.Errorf("worker circuits:\n%s", out)
	}
	f.run(2, workerPackage, "circuits", "open", "hunterr")
}

func TestARefusedKeySuspendsTheProviderUntilTheKeyChanges(t *testing.T) {
	f := newFleet(t, "sqlite", "keys: {clearbit: right-key}\n")
	w := f.workers(1)[0]
	f.run(0, enqueuePackage, "file", f.write("leads.csv", csvOf(40)))
	f.settled(time.Minute)
	if calls := f.books()["clearbit"].Calls; calls < 1 || calls > 32 { // those that were under way when the first was refused
		t.Errorf("%d calls with a refused key", calls)
	}
	c := f.circuit("clearbit")
	if c.SuspendedFor != "auth" || !c.SuspendedUntil.Equal(resilience.Indefinitely) {
		t.Errorf("worker circuits: %+v", c)
	}
	stopped(t, w)
	f.env = append(f.env, "CLEARBIT_API_KEY=right-key")
	f.run(0, enqueuePackage, "file", f.write("more.csv", strings.ReplaceAll(csvOf(20), "R-", "S-")))
	before := f.books()["clearbit"].Calls
	f.workers(1)
	f.settled(time.Minute)
	if calls := f.books()["clearbit"].Calls - before; calls != 20 {
		t.Errorf("with the right key there were %d calls for 20 leads", calls)
	}
}

// circuit is one provider's, as worker circuits shows it.
func (f *fleet) circuit(name string) resilience.Circuit {
	f.t.Helper()
	for _, c := range decode[[]resilience.Circuit](f.t, f.run(0, workerPackage, "circuits", "--json")) {
		if c.Provider == name {
			return c
		}
	}
	f.t.Fatalf("worker circuits does not know %s", name)
	return resilience.Circuit{}
}

func TestARedisThatStopsBlocksNoLeadForGood(t *testing.T) {
	f := newFleet(t, "sqlite", "latency: {min: 5ms, max: 10ms}\n", troubleEnv...)
	f.workers(2)
	f.run(0, enqueuePackage, "file", f.write("leads.csv", csvOf(200)))
	f.redis.Kill()
	f.redis.Restart() // empty: it keeps nothing on disk
	b := f.settled(90 * time.Second)
	if b.Settled.Enriched != 200 || b.Unaccounted != 0 {
		t.Errorf("the books: %+v", b)
	}
	testkit.Eventually(t, 10*time.Second, "the circuits are shared again", func() bool { return f.circuit("clearbit").State == "closed" })
}
