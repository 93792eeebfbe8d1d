package credits_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"backstop/credits"
	"backstop/testkit"

	"github.com/google/go-cmp/cmp"
)

// patience is what tests in which something hangs wait for. A third of it must do
// for Redis when it is there, on a busy machine.
const patience = 3 * time.Second

func timeout(o *credits.Options) { o.Timeout = patience }

// brief is for tests in which there is no Redis at any time.
func brief(o *credits.Options) { o.Timeout = 300 * time.Millisecond }

// A Redis that hangs costs one time-out, and then nothing until the next try. Calls that
// nothing can count wait: their leads come back.
func TestAHaltedRedisHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	server := testkit.RedisServer(t)
	r := newReplica(t, server.Addr(), &books{}, 10, 0, timeout)
	under := r.must(2)
	r.pay(1)
	server.Stop()
	began := time.Now()
	if full := r.full(3); !full.Unknown {
		t.Errorf("it says %v", full)
	}
	if took := time.Since(began); took > patience+time.Second {
		t.Errorf("Reserve took %s", took)
	}
	began = time.Now()
	under.Commit(t.Context(), 0)
	if full := r.full(5); !full.Unknown || !full.Until.Equal(noon.Add(credits.LookAgain)) {
		t.Errorf("it says %v until %s", full, full.Until)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("the next ones took %s", took)
	}
	server.Cont()
	r.advance(credits.LookAgain)
	r.pay(9) // what the one under way did not cost is given back
	if full := r.full(0.5); full.Unknown {
		t.Errorf("it says %v", full)
	}
}

func TestARedisThatComesBackEmptyBeginsWithWhatTheLedgerKnows(t *testing.T) {
	t.Parallel()
	server := testkit.RedisServer(t)
	b := &books{}
	r, other := newReplica(t, server.Addr(), b, 10, 0), newReplica(t, server.Addr(), b, 10, 0)
	r.pay(2)
	b.record(api, noon, 2)
	server.Kill()
	r.full(5)
	b.record(api, noon, 5) // by calls that were under way
	server.Restart()
	r.advance(credits.LookAgain)
	r.pay(2)
	if got := counter(t, server.Client()); got != 9_000_000 {
		t.Errorf("%d micro-credits are counted", got)
	}
	other.full(2)
	other.pay(1)
}

// Redis keeps its counters, and lacks what the ledger learned while a replica was cut off.
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
		r.full(6)
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
	if full := r.full(1); !full.Unknown {
		t.Errorf("it says %v", full)
	}
}

func TestWhenNothingSaysWhatWasSpentACallWaits(t *testing.T) {
	r := newReplica(t, testkit.FreeAddr(t), &books{}, 10, 20, brief)
	full := r.full(1)
	if !full.Unknown || full.Cap != 10 || full.Per != "day" || !full.Until.Equal(noon.Add(credits.LookAgain)) {
		t.Errorf("%+v", full)
	}
	if d := cmp.Diff(map[string]int{api + " unknown": 1}, r.refused); d != "" {
		t.Errorf("Refused was told (-want +got)\n%s", d)
	}
	if all, err := r.Usage(t.Context()); err == nil {
		t.Errorf("Usage: %v", all)
	}
}

// A day whose counter is missing begins with the ledger, not with what it said the day before.
func TestAReadingOfYesterdayIsNoneOfToday(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		b := &books{}
		r := newReplica(t, addr, b, 10, 0)
		r.set(time.Date(2026, 3, 17, 23, 59, 59, 0, time.UTC))
		r.pay(1)
		b.set(true, false)
		r.advance(2 * time.Second)
		r.full(1)
		if r.refused[api+" unknown"] != 1 {
			t.Errorf("Refused was told %v", r.refused)
		}
	})
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
	r.full(1)
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
