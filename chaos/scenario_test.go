package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"backstop/testkit"
	"backstop/testkit/fleet"
)

// parallel is how many scenarios run at once unless -parallel says otherwise. They
// mostly wait, so that it may be more than there are processors.
func parallel() int { return size(4, 8) }

func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", strconv.Itoa(parallel())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	testkit.Main(m)
}

// A scenario is one kind of fault and what it strikes.
type scenario struct {
	Name     string
	Seed     uint64
	Faults   int                // at least so many are injected
	Leads    int                // enqueued before the faults
	Kind     func(i int) string // of the i-th lead; nil: every call about it is answered
	Replicas int
	Slots    int                     // of each replica: leads worked on at once
	Ledger   string                  // fleet.SQLite by default
	Bring    func(*testing.T) string // brings a Redis of the test's own and gives its URL
	Redis    []testkit.RedisOption
	Script   string   // the sandbox's
	Env      []string // of every command
	Proxied  []target // what the workers reach through a proxy

	// Before runs before the leads are enqueued. It may be nil.
	Before func(r *run)
	// Inject injects the faults, each noted with [run.struck]. When it returns the
	// faults are over.
	Inject func(r *run)
}

// size is the first number in a full run and the second in a short one.
func size(full, short int) int {
	if os.Getenv("CHAOS") == "full" {
		return full
	}
	return short
}

const (
	// A lead's budget runs from its first failed call.
	budget = 10 * time.Second
	// settleWithin is when every lead is to be settled after the last fault.
	settleWithin = 60*time.Second + budget
	// hopeless is when the scenario gives up: it tells a lead that comes late from
	// one that never comes.
	hopeless = 4 * time.Minute
)

// play runs a scenario to its end and checks what is required.
func play(t *testing.T, s scenario) {
	t.Helper()
	t.Parallel()
	began := time.Now()
	r := start(t, s)
	if s.Before != nil {
		s.Before(r)
	}
	if s.Leads > 0 {
		r.enqueue("R", s.Leads)
	}
	r.Workers(s.Replicas)
	s.Inject(r)
	r.over = time.Now()
	r.waitSettled()
	res := r.result()
	res.Seconds = time.Since(began).Seconds()
	record(t, res)
	res.check(t)
}

// start prepares the servers of a scenario.
func start(t *testing.T, s scenario) *run {
	t.Helper()
	if s.Slots == 0 {
		s.Slots = 8
	}
	if other := os.Getenv("CHAOS_SEED"); other != "" {
		n, err := strconv.ParseUint(other, 10, 32)
		if err != nil {
			t.Fatalf("CHAOS_SEED: %v", err)
		}
		s.Seed += n << 16
	}
	r := &run{t: t, spec: s, rand: rand.New(rand.NewPCG(s.Seed, 0xc4a05))}
	ledger := s.Ledger
	if ledger == fleet.Postgres {
		r.postgres = testkit.PostgresServer(t)
		ledger = r.postgres.URL()
	}
	redisURL := ""
	if s.Bring != nil {
		redisURL = s.Bring(t)
	}
	r.Fleet = fleet.New(t, fleet.Options{
		Ledger: ledger, RedisURL: redisURL, Redis: s.Redis, Script: fmt.Sprintf("seed: %d\n%s", s.Seed, s.Script),
		Env: append(fleet.TroubleEnv(), append(s.Env, fmt.Sprintf("BACKSTOP_WORKER__CONCURRENCY=%d", s.Slots))...),
	})
	r.through(s.Proxied)
	return r
}

// pause waits for a random time between two faults.
func (r *run) pause(least, most time.Duration) {
	r.t.Helper()
	r.wait(least + time.Duration(r.rand.Int64N(int64(most-least)+1)))
}

// wait lets a fault last.
func (r *run) wait(d time.Duration) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), d)
	defer cancel()
	<-ctx.Done()
	if r.t.Context().Err() != nil {
		r.t.Fatal("interrupted")
	}
}
