package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/testkit"
	"backstop/testkit/fleet"
)

// A target is what a proxy stands before.
type target string

const (
	toRedis   target = "redis"
	toLedger  target = "ledger" // PostgreSQL
	toSandbox target = "sandbox"
)

// A run is a scenario being played.
type run struct {
	*fleet.Fleet
	spec     scenario
	t        *testing.T
	rand     *rand.Rand
	proxies  map[target]*testkit.Proxy
	postgres *testkit.PostgresProcess
	books    *ledger.Ledger // opened when first asked
	redis    *redis.Client  // the same

	known    int       // what settled last found
	accepted int       // leads, by what enqueue said
	faults   int       // injected so far
	underWay int       // calls that the faults may have struck
	over     time.Time // when the last fault ended
	late     bool      // leads were open after settleWithin
}

// through puts proxies between the workers and the targets.
func (r *run) through(targets []target) {
	r.t.Helper()
	r.proxies = map[target]*testkit.Proxy{}
	for _, to := range targets {
		switch to {
		case toRedis:
			p := testkit.NewProxy(r.t, r.Redis.Addr())
			r.proxies[to] = p
			r.WorkerEnv = append(r.WorkerEnv, "BACKSTOP_REDIS__URL=redis://"+p.Addr()+"/0")
		case toLedger:
			p := testkit.NewProxy(r.t, hostOf(r.t, r.Ledger))
			r.proxies[to] = p
			r.WorkerEnv = append(r.WorkerEnv, "BACKSTOP_LEDGER__URL="+strings.Replace(r.Ledger, hostOf(r.t, r.Ledger), p.Addr(), 1))
		case toSandbox:
			p := testkit.NewProxy(r.t, hostOf(r.t, r.Sandbox))
			r.proxies[to] = p
			for _, name := range sandbox.Providers() {
				r.WorkerEnv = append(r.WorkerEnv, fmt.Sprintf("BACKSTOP_PROVIDERS__%s__BASE_URL=http://%s/%s", strings.ToUpper(name), p.Addr(), name))
			}
		}
	}
}

func hostOf(t *testing.T, rawURL string) string {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// enqueue accepts n leads whose source IDs begin with prefix.
func (r *run) enqueue(prefix string, n int) {
	r.t.Helper()
	sum := r.Enqueue(prefix+".csv", r.csv(prefix, n))
	r.accepted += int(sum.Accepted)
	if sum.Accepted != int64(n) {
		r.t.Errorf("enqueue of %d leads: %+v", n, sum)
	}
}

// csv makes a file of n leads of the scenario's kinds.
func (r *run) csv(prefix string, n int) string {
	kind := r.spec.Kind
	if kind == nil {
		kind = func(int) string { return "fine" }
	}
	return fleet.CSVOf(prefix, n, kind)
}

// counts are the ledger's, read around the workers' proxies. It is false while the
// ledger is away.
func (r *run) counts() (c ledger.Counts, ok bool) {
	r.t.Helper()
	if r.books == nil {
		l, err := ledger.Open(r.t.Context(), r.Ledger, ledger.Options{})
		if err != nil {
			return c, false
		}
		r.books = l
		r.t.Cleanup(func() {
			if err := l.Close(); err != nil {
				r.t.Errorf("close the ledger: %v", err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Second)
	defer cancel()
	c, err := r.books.Counts(ctx)
	return c, err == nil
}

// settled is how many leads have their outcome, or had it when the ledger could
// last be read: a process that was stopped in the middle of a commit locks SQLite.
func (r *run) settled() int {
	r.t.Helper()
	if c, ok := r.counts(); ok {
		r.known = int(c.Accepted - c.Live)
	}
	return r.known
}

// asked is about how many people a provider was asked.
func (r *run) asked() int {
	r.t.Helper()
	n := 0
	for _, b := range r.Books() {
		n = max(n, b.People)
	}
	return n
}

// open is how many calls are being answered now.
func (r *run) open() int {
	r.t.Helper()
	n := 0
	for _, b := range r.Books() {
		n += b.Open
	}
	return n
}

// active is how many leads workers hold.
func (r *run) active() int64 {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	if r.redis == nil {
		r.redis = r.Redis.Client()
	}
	n, err := r.redis.LLen(ctx, "asynq:{"+queue.QueueEnrich+"}:active").Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// struck notes a fault that strikes so many replicas. settledBefore is [run.settled]
// from just before it. The calls under way were those about leads that had been
// asked about and not settled, of which a replica has no more than its slots.
func (r *run) struck(replicas, settledBefore int) {
	r.t.Helper()
	r.faults++
	r.underWay += max(0, min(replicas*r.spec.Slots, r.asked()-settledBefore))
}

// left is how many leads are open.
func (r *run) left() int {
	r.t.Helper()
	return r.accepted - r.settled()
}

// more reports whether another fault is to strike: there have not been enough, or
// more leads are left than a fleet in peace should work off before the clock of
// settleWithin, which is for the struck ones, runs out.
func (r *run) more() bool {
	r.t.Helper()
	left := r.left()
	if left == 0 && r.faults < r.spec.Faults {
		r.t.Errorf("all leads were settled after %d faults", r.faults)
	}
	return left > 0 && (r.faults < r.spec.Faults || left > size(r.spec.Leads/10, r.spec.Leads))
}

// each injects the scenario's faults with random pauses between them, as long as
// there are leads to strike. replicas is how many each fault strikes.
func (r *run) each(replicas int, least, most time.Duration, fault func()) {
	r.t.Helper()
	for r.more() {
		r.pause(least, most)
		before := r.settled()
		fault()
		r.struck(replicas, before)
	}
}

// waitSettled waits until no lead is open, and notes whether that was in time.
func (r *run) waitSettled() {
	r.t.Helper()
	done := func() bool {
		c, ok := r.counts()
		return ok && c.Live == 0
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		switch since := time.Since(r.over); {
		case since > hopeless:
			return
		case since > settleWithin && !r.late:
			r.late = true
		}
		<-tick.C
	}
}
