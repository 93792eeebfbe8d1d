package credits_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"backstop/credits"
	"backstop/testkit"
)

// patience is what tests in which something hangs wait for. A third of it must do
// for Redis when it is there, on a busy machine.
const patience = 3 * time.Second

func timeout(o *credits.Options) { o.Timeout = patience }

// brief is for tests in which there is no Redis at any time.
func brief(o *credits.Options) { o.Timeout = 300 * time.Millisecond }

// A Redis that hangs costs one time-out, and then nothing until the next try.
func TestAHaltedRedisHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	server := testkit.RedisServer(t)
	b := &books{}
	r := newReplica(t, server.Addr(), b, 10, 0, timeout)
	under := r.must(2)
	r.pay(1)
	server.Stop()
	began := time.Now()
	r.pay(3)
	if took := time.Since(began); took > patience+time.Second {
		t.Errorf("Reserve took %s", took)
	}
	began = time.Now()
	under.Commit(t.Context(), 0)
	r.pay(5)
	if took := time.Since(began); took > patience {
		t.Errorf("the next ones took %s", took)
	}
	r.full(1.5) // although none of this is in the ledger
	server.Cont()
	for range 9 { // but now it is
		b.record(api, noon, 1)
	}
	r.advance(credits.LookAgain)
	r.pay(1)
	r.full(0.5)
}

func TestARedisThatComesBackEmptyIsToldWhatWasSpentWithoutIt(t *testing.T) {
	t.Parallel()
	server := testkit.RedisServer(t)
	b := &books{}
	r, other := newReplica(t, server.Addr(), b, 10, 0), newReplica(t, server.Addr(), b, 10, 0)
	r.pay(2)
	b.record(api, noon, 2)
	server.Kill()
	r.pay(5)
	b.record(api, noon, 5)
	server.Restart()
	r.advance(credits.LookAgain)
	r.pay(2)
	if got := counter(t, server.Client()); got != 9_000_000 {
		t.Errorf("%d micro-credits are counted", got)
	}
	other.full(2)
	other.pay(1)
}

// Redis keeps its counters, and lacks what one replica spent while it was cut off.
func TestAReplicaThatWasCutOffRaisesAllItsCounters(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, addr string) {
		proxy := testkit.NewProxy(t, addr)
		b := &books{}
		r := newReplica(t, proxy.Addr(), b, 10, 0, func(o *credits.Options) { o.Caps["clearbit"] = credits.Caps{Day: 10} })
		clearbit := func() error {
			_, err := r.Reserve(t.Context(), "clearbit", 1)
			return err
		}
		r.pay(1)
		if err := clearbit(); err != nil {
			t.Fatal(err)
		}
		proxy.Cut()
		r.pay(6)
		b.record(api, noon, 7)
		proxy.Restore()
		r.advance(credits.LookAgain)
		if err := clearbit(); err != nil { // by which it sees that Redis is back
			t.Fatal(err)
		}
		r.full(3.5)
		if err := clearbit(); err != nil {
			t.Fatal(err)
		}
		before := b.reads.Load() // both have read it again
		r.pay(3)
		if err := clearbit(); err != nil {
			t.Fatal(err)
		}
		if n := b.reads.Load() - before; n != 0 {
			t.Errorf("the ledger was read %d times more", n)
		}
	})
}

func TestARedisThatIsFullIsAsGoodAsNone(t *testing.T) {
	t.Parallel()
	server := testkit.RedisServer(t, testkit.WithMaxMemory(1, "noeviction"))
	r := newReplica(t, server.Addr(), &books{}, 2, 0)
	r.pay(1)
	r.pay(1)
	r.full(0.5)
}

// Everything hangs: Redis, and the ledger too.
func TestNobodyWaitsLongerThanTheTimeout(t *testing.T) {
	t.Parallel()
	server := testkit.RedisServer(t)
	b := &books{hangs: true}
	r := newReplica(t, server.Addr(), b, 10, 0, timeout)
	server.Stop()
	defer server.Cont()
	var wg sync.WaitGroup
	began := time.Now()
	for range 20 {
		wg.Go(func() {
			var full error
			if _, full = r.Reserve(context.Background(), api, 1); full == nil {
				t.Error("a call is let pass")
			}
		})
	}
	wg.Wait()
	if took := time.Since(began); took > patience+time.Second {
		t.Errorf("they waited for %s", took)
	}
}

func TestAClockThatIsSetBackKeepsNeitherRedisAwayNorAReading(t *testing.T) {
	t.Parallel()
	server := testkit.RedisServer(t)
	proxy := testkit.NewProxy(t, server.Addr())
	b := &books{}
	r := newReplica(t, proxy.Addr(), b, 10, 0)
	proxy.Cut()
	r.pay(1)
	proxy.Restore()
	r.advance(-6 * time.Hour)
	r.pay(1)
	if got := counter(t, server.Client()); got != 1_000_000 {
		t.Errorf("%d micro-credits are counted", got)
	}
	r.must(1).Commit(t.Context(), 0) // it has read the ledger since Redis is back
	b.record(api, noon, 9)
	r.advance(-time.Hour)
	r.full(1.5)
}
