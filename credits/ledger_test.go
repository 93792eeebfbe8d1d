package credits_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"backstop/credits"
)

func flush(tb testing.TB, rdb *redis.Client) {
	tb.Helper()
	if err := rdb.FlushAll(tb.Context()).Err(); err != nil {
		tb.Fatal(err)
	}
	if err := rdb.ScriptFlush(tb.Context()).Err(); err != nil {
		tb.Fatal(err)
	}
}

func TestAnEmptyRedisBeginsWithWhatTheLedgerKnows(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		b := &books{}
		b.record(api, noon.Add(-time.Hour), 3)
		b.record(api, noon.AddDate(0, 0, -1), 4)
		b.record(api, noon.AddDate(0, -1, 0), 100)
		r := newReplica(t, addr, b, 5, 8.5)
		want := []credits.Usage{{Provider: api, Per: "day", Used: 3, Cap: 5}, {Provider: api, Per: "month", Used: 7, Cap: 8.5}}
		if d := cmp.Diff(want, r.usage()); d != "" {
			t.Errorf("usage (-want +got)\n%s", d)
		}
		r.pay(1.5)
		if full := r.full(0.5); full.Per != "month" {
			t.Errorf("%v", full)
		}
	})
}

func TestAFlushedRedisForgetsNoMoreThanTheCallsUnderWay(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		b, rdb := &books{}, client(t, addr)
		one, other := newReplica(t, addr, b, 10, 0), newReplica(t, addr, b, 10, 0)
		for range 5 {
			one.pay(1)
			b.record(api, noon, 1)
		}
		under := other.must(2)
		flush(t, rdb)
		// Both read the ledger lately, and before it had any of this.
		one.pay(5)
		other.full(0.000001)
		// The new counter does not have the reservation, so nothing comes back.
		under.Commit(t.Context(), 0)
		one.full(0.000001)
		if got := counter(t, rdb); got != 10_000_000 {
			t.Errorf("%d micro-credits are counted", got)
		}
	})
}

// A settlement that finds no counter makes none: it would seem to know something.
func TestASettlementAfterAFlushMakesNoCounter(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		b, rdb := &books{}, client(t, addr)
		r := newReplica(t, addr, b, 10, 20)
		under := r.must(1)
		b.record(api, noon, 8)
		flush(t, rdb)
		under.Commit(t.Context(), 1)
		if n := rdb.DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("there are %d keys", n)
		}
		r.full(2.5)
		r.pay(2)
	})
}

// Sums of floats in the ledger miss a little; that must not cost the last call.
func TestWhatTheLedgerAddsUpIsRoundedToTheNearest(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		inexact := func(context.Context, string, time.Time) (float64, float64, error) {
			return 7.0000002, 8.9999998, nil
		}
		r := newReplica(t, addr, &books{}, 8, 10, func(o *credits.Options) { o.Spent = inexact })
		r.pay(1)
		if full := r.full(0.000001); full.Per != "month" {
			t.Errorf("%v", full)
		}
	})
}

// A failover may bring a copy back that lacks what was counted last.
func TestAnOlderCopyIsRaisedToWhatTheLedgerKnows(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		b, rdb := &books{}, client(t, addr)
		one, other := newReplica(t, addr, b, 10, 0), newReplica(t, addr, b, 10, 0)
		one.pay(1)
		b.record(api, noon, 1)
		other.must(0.5).Commit(t.Context(), 0) // it has read the ledger, too
		older := snapshot(t, rdb)
		for range 7 {
			one.pay(1)
			b.record(api, noon, 1)
		}
		older.restore(t, rdb)
		one.advance(credits.Every)
		other.must(0.5)
		if got := counter(t, rdb); got != 1_500_000 {
			t.Fatalf("%d micro-credits are counted in the older copy", got)
		}
		one.pay(1) // it reads the ledger again
		if got := counter(t, rdb); got != 9_000_000 {
			t.Errorf("%d micro-credits are counted", got)
		}
		other.full(1.5) // and who has not is told by Redis
	})
}

// What is given back from a counter that the ledger raised does not bring it below
// what the ledger knew.
func TestACounterNeverFallsBelowTheLedger(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		b := &books{}
		one, other := newReplica(t, addr, b, 10, 0), newReplica(t, addr, b, 10, 0)
		other.must(0.5).Commit(t.Context(), 0) // its reading says that nothing was spent
		under := one.must(4)
		b.record(api, noon, 6) // by somebody whom Redis did not hear of
		one.advance(credits.Every)
		one.pay(1)
		under.Commit(t.Context(), 0)
		other.full(4.5)
		other.pay(4)
	})
}

func TestTheLedgerIsReadOnlyEverySoOften(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		b := &books{}
		r := newReplica(t, addr, b, 1000, 0)
		for range 30 { // in all for 30 s
			r.pay(1)
			r.usage()
			r.advance(time.Second)
		}
		if n := b.reads.Load(); n != 3 {
			t.Errorf("it was read %d times", n)
		}
	})
}

func TestALedgerThatSaysNonsenseIsNotBelieved(t *testing.T) {
	for name, nonsense := range map[string]float64{"less than nothing": -1, "no number": math.NaN()} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, addr string) {
				newReplica(t, addr, &books{}, 10, 0).pay(1)
				asked := false
				r := newReplica(t, addr, &books{}, 10, 0, func(o *credits.Options) {
					o.Spent = func(context.Context, string, time.Time) (day, month float64, err error) {
						asked = true
						return nonsense, 5, nil
					}
				})
				r.pay(1)
				if used := r.usage()[0].Used; used != 2 || !asked {
					t.Errorf("%g is used; the ledger was asked: %v", used, asked)
				}
				flush(t, client(t, addr))
				r.full(1) // nothing says what was spent
				if all, err := r.Usage(t.Context()); err == nil {
					t.Errorf("usage is %v", all)
				}
			})
		})
	}
}

// While Redis has its counters a ledger that is away or hangs changes nothing.
func TestRedisGoesOnCountingWithoutTheLedger(t *testing.T) {
	for name, hangs := range map[string]bool{"away": false, "hanging": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(t *testing.T, addr string) {
				b := &books{}
				one := newReplica(t, addr, b, 3, 0)
				one.pay(1)
				b.set(true, hangs)
				impatient := newReplica(t, addr, b, 3, 0, timeout)
				one.advance(time.Hour)
				began := time.Now()
				impatient.pay(1)
				impatient.pay(1)
				if took := time.Since(began); took > patience+time.Second {
					t.Errorf("the calls took %s", took)
				}
				impatient.full(0.5)
			})
		})
	}
}

// A process that dies leaves what it had under way: the provider may charge for
// it, and nobody will write that down.
func TestWhatADeadProcessHadUnderWayStaysCountedForThePeriod(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		b := &books{}
		newReplica(t, addr, b, 2, 3).must(1)
		r := newReplica(t, addr, b, 2, 3)
		r.pay(1)
		r.full(0.5)
		r.advance(24 * time.Hour)
		r.pay(1)
		r.full(0.5) // of the month
		r.set(time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC))
		r.pay(2)
	})
}

// A copy is everything that a Redis has.
type copied map[string]map[string]string

func snapshot(tb testing.TB, rdb *redis.Client) copied {
	tb.Helper()
	c := copied{}
	for _, key := range rdb.Keys(tb.Context(), "*").Val() {
		c[key] = rdb.HGetAll(tb.Context(), key).Val()
	}
	return c
}

func (c copied) restore(tb testing.TB, rdb *redis.Client) {
	tb.Helper()
	flush(tb, rdb)
	for key, fields := range c {
		if err := rdb.HSet(tb.Context(), key, fields).Err(); err != nil {
			tb.Fatal(err)
		}
	}
}
