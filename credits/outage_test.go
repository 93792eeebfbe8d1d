package credits_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/credits"
	"backstop/testkit"
)

// patience is what tests in which something hangs wait for. A third of it must do
// for Redis when it is there, on a busy machine.
const patience = 3 * time.Second

func timeout(o *credits.Options) { o.Timeout = patience }

// brief is for tests in which there is no Redis at any time.
func brief(o *credits.Options) { o.Timeout = 300 * time.Millisecond }

func TestWithoutRedisAProcessKeepsToTheCapsByItself(t *testing.T) {
	b := &books{}
	b.record(api, noon.Add(-time.Hour), 4)
	r := newReplica(t, testkit.FreeAddr(t), b, 10, 12, brief)
	r.pay(1)
	under := r.must(2)
	free := r.must(3)
	r.full(0.5)
	free.Settle(t.Context(), 0)
	r.must(2).Settle(t.Context(), 7) // counts as its price
	r.pay(1)
	r.full(0.000001)
	want := []credits.Usage{{Provider: api, Per: "day", Used: 10, Cap: 10}, {Provider: api, Per: "month", Used: 10, Cap: 12}}
	if d := cmp.Diff(want, r.usage()); d != "" {
		t.Errorf("usage (-want +got)\n%s", d)
	}
	// What the ledger has by now counts once, when it is old enough.
	b.record(api, noon, 1)
	b.record(api, noon, 2)
	b.record(api, noon, 1)
	r.advance(credits.EveryAway)
	r.full(0.5)
	r.advance(credits.Unwritten)
	r.full(0.5)
	r.advance(credits.EveryAway)
	under.Settle(t.Context(), 1)
	r.pay(1)
	if full := r.full(0.5); full.Per != "day" {
		t.Errorf("%v", full)
	}
	b.record(api, noon, 2)
	r.set(noon.Add(12 * time.Hour)) // another day of the month
	r.pay(1)
	if full := r.full(2); full.Per != "month" {
		t.Errorf("%v", full)
	}
}

// Each hears of the other by the ledger, within the age of a reading.
func TestWithoutRedisOthersAreSeenThroughTheLedger(t *testing.T) {
	b := &books{}
	one, other := newReplica(t, testkit.FreeAddr(t), b, 10, 0, brief), newReplica(t, testkit.FreeAddr(t), b, 10, 0, brief)
	other.must(1).Settle(t.Context(), 0)
	one.pay(6)
	b.record(api, noon, 6)
	other.pay(5) // the overshoot that is documented
	b.record(api, noon, 5)
	for _, r := range []*replica{one, other} {
		r.advance(credits.EveryAway)
		r.full(0.5)
	}
}

func TestWithoutRedisManyAtOnceGetExactlyTheCap(t *testing.T) {
	r := newReplica(t, testkit.FreeAddr(t), &books{}, 20, 0, brief)
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		granted int
	)
	for range 30 {
		wg.Go(func() {
			for range 3 {
				if _, err := r.Reserve(context.Background(), api, 0.5); err == nil {
					mu.Lock()
					granted++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if granted != 40 {
		t.Errorf("%d calls of half a credit for 20", granted)
	}
}

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
	under.Settle(t.Context(), 0)
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

// The settlement that Redis was not told goes with the next call.
func TestWhatIsSettledWithoutRedisIsGivenBackLater(t *testing.T) {
	t.Parallel()
	server := testkit.RedisServer(t)
	proxy := testkit.NewProxy(t, server.Addr())
	b := &books{}
	r := newReplica(t, proxy.Addr(), b, 10, 0)
	calls := []interface {
		Settle(context.Context, float64)
	}{r.must(2), r.must(3), r.must(4)}
	proxy.Cut()
	for _, call := range calls {
		call.Settle(t.Context(), 1)
	}
	proxy.Restore()
	if got := counter(t, server.Client()); got != 9_000_000 {
		t.Fatalf("%d micro-credits are counted", got)
	}
	r.advance(credits.LookAgain)
	r.pay(7)
	if got := counter(t, server.Client()); got != 10_000_000 {
		t.Errorf("%d micro-credits are counted", got)
	}
}

// Redis did what it was asked, and its answer got lost: the call is made by what
// the process knows, and what Redis reserved for it is settled like any other.
func TestALostReplyCountsNothingTwice(t *testing.T) {
	t.Parallel()
	server := testkit.RedisServer(t)
	proxy := testkit.NewProxy(t, server.Addr())
	r := newReplica(t, proxy.Addr(), &books{}, 10, 0, timeout)
	r.pay(1) // the scripts are known
	proxy.DropReplies()
	call := r.must(4)
	if proxy.Dropped() == 0 {
		t.Fatal("no reply got lost")
	}
	rdb := server.Client()
	if got := counter(t, rdb); got != 5_000_000 {
		t.Errorf("%d micro-credits are counted", got)
	}
	proxy.Restore()
	r.advance(credits.LookAgain)
	call.Settle(t.Context(), 1)
	if got := counter(t, rdb); got != 2_000_000 {
		t.Errorf("%d micro-credits are counted", got)
	}
}

// The client sends the script again when the connection breaks before the reply.
func TestAScriptThatIsSentAgainReservesOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, addr string) {
		proxy := testkit.NewProxy(t, addr)
		r := newReplica(t, proxy.Addr(), &books{}, 10, 0)
		r.pay(1)
		proxy.DropReplies()
		done := make(chan error)
		go func() {
			_, err := r.Reserve(context.Background(), api, 4)
			done <- err
		}()
		testkit.Eventually(t, 10*time.Second, "the reply is lost", func() bool { return proxy.Dropped() > 0 })
		proxy.Restore()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := counter(t, client(t, addr)); got != 5_000_000 {
			t.Errorf("%d micro-credits are counted", got)
		}
	})
}

func TestASettlementWhoseReplyIsLostCountsOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, addr string) {
		proxy := testkit.NewProxy(t, addr)
		r := newReplica(t, proxy.Addr(), &books{}, 10, 0, timeout)
		r.pay(1) // the scripts are known
		call := r.must(4)
		proxy.DropReplies()
		call.Settle(t.Context(), 1)
		if proxy.Dropped() == 0 {
			t.Fatal("no reply got lost")
		}
		proxy.Restore()
		r.advance(credits.LookAgain)
		r.pay(2)
		if got := counter(t, client(t, addr)); got != 4_000_000 {
			t.Errorf("%d micro-credits are counted", got)
		}
	})
}

// The caller goes away while Redis thinks: what it may have reserved is given back.
func TestACallerThatGoesAwayReservesNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, addr string) {
		proxy := testkit.NewProxy(t, addr)
		r := newReplica(t, proxy.Addr(), &books{}, 10, 0)
		r.pay(1)
		proxy.DropReplies()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := r.Reserve(ctx, api, 9); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the error is %v", err)
		}
		if got := counter(t, client(t, addr)); got != 10_000_000 {
			t.Fatalf("%d micro-credits are counted", got)
		}
		proxy.Restore()
		r.pay(9)
		if _, err := r.Reserve(ctx, api, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error of one who is gone from the beginning is %v", err)
		}
	})
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

func TestWhenNothingSaysWhatWasSpentNothingMoreIs(t *testing.T) {
	b := &books{}
	r := newReplica(t, testkit.FreeAddr(t), b, 10, 20, brief)
	b.set(true, false)
	full := r.full(1)
	if full.Cap != 10 || full.Per != "day" || !full.Until.Equal(noon.Add(credits.LookAgain)) {
		t.Errorf("%+v", full)
	}
	if d := cmp.Diff(map[string]int{api + " unknown": 1}, r.refused); d != "" {
		t.Errorf("Refused was told (-want +got)\n%s", d)
	}
	if all, err := r.Usage(t.Context()); err == nil || err.Error() != "usage of the credits of hunter: the ledger cannot be read" {
		t.Errorf("Usage: %v, %v", all, err)
	}
	b.set(false, false)
	r.advance(credits.LookAgain)
	r.pay(1)
	// What was read lately will do for a while, with all that was spent since.
	b.set(true, false)
	r.advance(credits.Oldest - time.Second)
	r.pay(8)
	r.full(1.5)
	r.pay(1)
	r.advance(time.Second)
	r.full(0.000001)
	if r.refused[api+" unknown"] != 2 {
		t.Errorf("Refused was told %v", r.refused)
	}
}

func TestAReadingOfYesterdayIsNoneOfToday(t *testing.T) {
	b := &books{}
	r := newReplica(t, testkit.FreeAddr(t), b, 10, 0, brief)
	r.set(time.Date(2026, 3, 17, 23, 59, 59, 0, time.UTC))
	r.pay(1)
	b.set(true, false)
	r.advance(2 * time.Second)
	r.full(1)
	if r.refused[api+" unknown"] != 1 {
		t.Errorf("Refused was told %v", r.refused)
	}
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
	b.record(api, noon, 9)
	r.advance(-time.Hour)
	r.full(1.5)
}
