package credits_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"backstop/credits"
)

// The clocks of the replicas differ; for the month's cap that may be by days. The
// embedded Redis and the real one give the cap to the last half credit, and at no
// time is more spent and under way than it.
func TestReplicasTogetherSpendExactlyTheCap(t *testing.T) {
	for name, c := range map[string]struct {
		day, month float64
		clocks     []time.Duration
	}{
		"a day's":    {40, 0, []time.Duration{0, -11 * time.Hour, 3 * time.Second, 11 * time.Hour}},
		"a month's":  {0, 40, []time.Duration{0, -15 * 24 * time.Hour, time.Minute, 13 * 24 * time.Hour}},
		"one inside": {40, 1000, []time.Duration{0, time.Hour, -time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, addr string) {
				b := &books{}
				var replicas []*replica
				for _, offset := range c.clocks {
					r := newReplica(t, addr, b, c.day, c.month)
					r.advance(offset)
					replicas = append(replicas, r)
				}
				spendAll(t, replicas, b, 40, 0.5)
				for _, r := range replicas {
					r.full(0.5)
				}
			})
		})
	}
}

// spendAll makes calls from all replicas, some of which are free in the end, until
// the cap is spent.
func spendAll(t *testing.T, replicas []*replica, b *books, limit, price float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	total, each := credits.Micros(limit), credits.Micros(price)
	var spent, under atomic.Int64 // under includes what is spent
	work := func(r *replica) {
		for spent.Load() < total && ctx.Err() == nil {
			call, err := r.Reserve(ctx, api, price)
			if err != nil {
				continue // somebody's call may yet turn out to be free
			}
			if now := under.Add(each); now > total {
				t.Errorf("%d micro-credits are spent or under way, of %d", now, total)
			}
			cost := 0.0
			if rand.IntN(3) > 0 {
				cost = price
				b.record(api, r.now(), cost)
				spent.Add(each)
			} else {
				under.Add(-each) // before anybody else can have it
			}
			call.Commit(ctx, cost)
		}
	}
	var wg sync.WaitGroup
	for _, r := range replicas {
		for range 4 {
			wg.Go(func() { work(r) })
		}
	}
	wg.Wait()
	if got := spent.Load(); got != total {
		t.Errorf("%d micro-credits were spent, of %d", got, total)
	}
}
