package credits_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/rs/zerolog"

	"backstop/chain"
	"backstop/credits"
	"backstop/testkit"
)

const api = "hunter"

// noon is not near the end of a day or a month.
var noon = time.Date(2026, 3, 17, 12, 0, 0, 0, time.UTC)

// everywhere runs a test on a real Redis and on the one in the process.
func everywhere(t *testing.T, test func(t *testing.T, addr string)) {
	t.Run("on Redis", func(t *testing.T) { test(t, testkit.RedisServer(t).Addr()) })
	t.Run("on the embedded Redis", func(t *testing.T) { test(t, miniredis.RunT(t).Addr()) })
}

func client(tb testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{
		Addr: addr, ContextTimeoutEnabled: true, PoolSize: 40,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close Redis client: %v", err)
		}
	})
	return c
}

var errNoLedger = errors.New("the database is away")

// books are the ledger, as far as spending goes.
type books struct {
	mu    sync.Mutex
	spent map[string]map[time.Time]int64 // micro-credits by provider and day
	away  bool
	hangs bool
	reads atomic.Int64
}

func (b *books) set(away, hangs bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away, b.hangs = away, hangs
}

// record writes down what a call at the provider cost.
func (b *books) record(provider string, at time.Time, cost float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = map[string]map[time.Time]int64{}
	}
	if b.spent[provider] == nil {
		b.spent[provider] = map[time.Time]int64{}
	}
	day, _ := credits.Day(at)
	b.spent[provider][day] += credits.Micros(cost)
}

// Spent is what a Store asks.
func (b *books) Spent(ctx context.Context, provider string, now time.Time) (day, month float64, err error) {
	b.reads.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hangs {
		b.mu.Unlock()
		<-ctx.Done()
		b.mu.Lock()
		return 0, 0, ctx.Err()
	}
	if b.away {
		return 0, 0, errNoLedger
	}
	today, _ := credits.Day(now)
	first, next := credits.Month(now)
	var d, m int64
	for at, sum := range b.spent[provider] {
		if at.Equal(today) {
			d += sum
		}
		if !at.Before(first) && at.Before(next) {
			m += sum
		}
	}
	return float64(d) / 1e6, float64(m) / 1e6, nil
}

// A clock that stands still until it is told.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

func (c *clock) advance(d time.Duration) { c.set(c.now().Add(d)) }

// A replica is the Store of one process among several.
type replica struct {
	*credits.Store
	*clock
	tb      testing.TB
	mu      sync.Mutex
	refused map[string]int
}

// newReplica is one at noon whose provider may cost as much a day and a month.
func newReplica(tb testing.TB, addr string, b *books, day, month float64, set ...func(*credits.Options)) *replica {
	tb.Helper()
	r := &replica{tb: tb, clock: &clock{at: noon}, refused: map[string]int{}}
	o := credits.Options{
		Caps: map[string]credits.Caps{api: {Day: day, Month: month}}, Spent: b.Spent, Logger: zerolog.Nop(),
		Timeout: 6 * time.Second, // on a busy machine, when nothing hangs
		Now:     func() time.Time { return r.now() },
		Refused: func(provider, per string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.refused[provider+" "+per]++
		},
	}
	for _, f := range set {
		f(&o)
	}
	var err error
	if r.Store, err = credits.New(client(tb, addr), o); err != nil {
		tb.Fatal(err)
	}
	return r
}

// take reserves a price, and gives nil when a cap has no room for it.
func (r *replica) take(price float64) (chain.Reservation, *chain.CapReached) {
	r.tb.Helper()
	reservation, err := r.Reserve(context.Background(), api, price)
	var full *chain.CapReached
	if err != nil && !errors.As(err, &full) {
		r.tb.Fatalf("Reserve: %v", err)
	}
	if (reservation == nil) == (full == nil) {
		r.tb.Fatalf("Reserve gave %v and %v", reservation, err)
	}
	return reservation, full
}

// must reserves a price that there is room for.
func (r *replica) must(price float64) chain.Reservation {
	r.tb.Helper()
	reservation, full := r.take(price)
	if full != nil {
		r.tb.Fatalf("%v", full)
	}
	return reservation
}

// full fails the test unless there is no room for a price.
func (r *replica) full(price float64) *chain.CapReached {
	r.tb.Helper()
	_, full := r.take(price)
	if full == nil {
		r.tb.Fatalf("there is room for %g", price)
	}
	return full
}

// pay makes a call that costs its price, without the ledger.
func (r *replica) pay(price float64) {
	r.tb.Helper()
	r.must(price).Commit(context.Background(), price)
}

func (r *replica) usage() []credits.Usage {
	r.tb.Helper()
	all, err := r.Usage(context.Background())
	if err != nil {
		r.tb.Fatalf("Usage: %v", err)
	}
	return all
}

// counter is what Redis itself has counted for noon's day.
func counter(tb testing.TB, rdb *redis.Client) int64 {
	tb.Helper()
	text, err := rdb.HGet(tb.Context(), "backstop:credits:{"+api+"}:day:2026-03-17", "used").Result()
	if err != nil {
		tb.Fatalf("read the counter: %v", err)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		tb.Fatalf("the counter is %q", text)
	}
	return n
}
