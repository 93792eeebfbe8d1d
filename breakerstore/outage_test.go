package breakerstore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/breakerstore"
	"backstop/lead"
	"backstop/resilience"
	"backstop/testkit"
)

// outage starts a Redis that a test interferes with, and a fleet that has the
// default time-out.
func outage(t *testing.T, n int, cfg resilience.GateConfig) (*testkit.RedisProcess, []*replica) {
	redis := testkit.RedisServer(t)
	fleet := server{url: redis.URL()}.fleet(t, n, cfg, func(o *breakerstore.Options) {
		o.Timeout = 0
	})
	return redis, fleet
}

// SIGSTOP: while Redis is halted no caller is blocked for longer than one
// time-out; the replica decides alone, and takes up the shared state after it.
func TestHaltedRedisBlocksNobody(t *testing.T) {
	for name, cfg := range map[string]resilience.GateConfig{
		"unlimited": {},
		"limited":   {Limits: []resilience.Limit{{Rate: 3000, Per: time.Second}}},
	} {
		t.Run(name, func(t *testing.T) {
			redis, fleet := outage(t, 1, cfg)
			r := fleet[0]
			rdb := redis.Client()
			key := "backstop:gate:{" + api + "}:"
			// On a busy machine a failure may not reach Redis within the time-out.
			r.soon("has told of four failures", func() bool {
				n := rdb.LLen(context.Background(), key+"failures").Val()
				if n < 4 {
					r.call(1, failed)
				}
				return n == 4
			})
			redis.Stop()
			var longest atomic.Int64
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					for range 25 {
						began := time.Now()
						p, err := r.Acquire(context.Background(), api)
						longest.Store(max(longest.Load(), int64(time.Since(began))))
						if err != nil {
							t.Errorf("Acquire: %v", err)
							return
						}
						began = time.Now()
						p.Done(resilience.Result{Class: lead.ClassRateLimited, Wait: time.Nanosecond})
						longest.Store(max(longest.Load(), int64(time.Since(began))))
					}
				})
			}
			wg.Wait()
			// One time-out of 75 ms, and what the scheduler of a busy machine adds.
			if d := time.Duration(longest.Load()); d > 100*time.Millisecond+busy {
				t.Errorf("a caller was blocked for %s", d)
			}
			r.soon("trips alone", func() bool {
				p, err := r.Acquire(context.Background(), api)
				if err == nil {
					p.Done(failed)
				}
				return errors.Is(err, gobreaker.ErrOpenState)
			})
			redis.Cont()
			r.soon("takes up the shared state", func() bool {
				p, err := r.Acquire(context.Background(), api)
				if err == nil {
					p.Done(succeeded)
				}
				return err == nil && r.circuit().Failures == 4
			})
			r.soon("trips by the shared count", func() bool {
				if p, err := r.Acquire(context.Background(), api); err == nil {
					p.Done(failed)
				}
				return rdb.HGet(context.Background(), key+"circuit", "trips").Val() == "1"
			})
		})
	}
}

// A Redis that was killed and comes back empty gets back what the replicas know,
// and nobody is refused for good.
func TestKilledRedisComesBackEmpty(t *testing.T) {
	redis, fleet := outage(t, 2, resilience.GateConfig{Cooldown: 1500 * time.Millisecond})
	fleet[0].call(5, failed)
	for _, r := range fleet {
		r.refuses(resilience.ReasonOpen, 0)
	}
	redis.Kill()
	elapse(200 * time.Millisecond)
	for _, r := range fleet {
		if why := r.refusal().Reason; why != resilience.ReasonOpen {
			t.Fatalf("%s: without Redis it refuses with %s", r.name, why)
		}
	}
	redis.Restart()
	fleet[0].soon("finds the circuit open in Redis", func() bool {
		all, err := fleet[0].Circuits(context.Background())
		return err == nil && all[0].Trips == 1 && all[0].State == "open"
	})
	for _, r := range fleet {
		r.soon("may call again", func() bool {
			p, err := r.Acquire(context.Background(), api)
			if err == nil {
				p.Done(succeeded)
			}
			return err == nil && r.circuit().State == "closed"
		})
	}
	fleet[0].call(5, failed)
	fleet[1].refuses(resilience.ReasonOpen, 0)
}

// Through a stop, a kill and a flush no sliding second holds more calls than the
// limit: without Redis each replica has its part, and what it used is entered
// when Redis is back.
func TestLimitHoldsThroughOutages(t *testing.T) {
	limit := resilience.Limit{Rate: 20, Per: time.Second}
	redis, fleet := outage(t, 3, resilience.GateConfig{Limits: []resilience.Limit{limit}, MaxWait: time.Minute})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	var starts []time.Time
	var wg sync.WaitGroup
	for _, r := range fleet {
		for range 4 {
			wg.Go(func() {
				for {
					p, err := r.Acquire(ctx, api)
					now := time.Now()
					if err != nil {
						return
					}
					mu.Lock()
					starts = append(starts, now)
					mu.Unlock()
					p.Done(succeeded)
				}
			})
		}
	}
	for _, interfere := range []func(){
		func() {}, func() {}, // until every replica knows how many there are
		redis.Stop, redis.Cont, redis.FlushAll, func() {}, redis.Kill, redis.Restart, redis.FlushAll,
	} {
		interfere()
		elapse(1300 * time.Millisecond)
	}
	cancel()
	wg.Wait()
	checkLimit(t, limit, starts)
	if n := len(starts); n < 80 {
		t.Errorf("%d calls in ten seconds", n)
	}
}

// What a provider asked for while Redis was away is known to all when it is back.
func TestPauseHeardWithoutRedisIsHandedOver(t *testing.T) {
	redis, fleet := outage(t, 2, resilience.GateConfig{})
	fleet[0].call(1, succeeded)
	fleet[1].call(1, succeeded)
	redis.Stop()
	fleet[0].call(1, resilience.Result{Class: lead.ClassQuotaExhausted, Until: time.Now().Add(time.Hour)})
	fleet[0].refuses(resilience.ReasonSuspended, time.Hour)
	redis.Cont()
	fleet[1].refuses(resilience.ReasonSuspended, time.Hour)
}

// A gate that never reached Redis allows calls, within the limits.
func TestWithoutRedisFromTheStart(t *testing.T) {
	redis, _ := outage(t, 0, resilience.GateConfig{})
	redis.Kill()
	r := server{url: redis.URL()}.fleet(t, 1, resilience.GateConfig{Limits: []resilience.Limit{{Rate: 2, Per: time.Second}}},
		func(o *breakerstore.Options) { o.Timeout = 0 })[0]
	if _, err := r.Circuits(t.Context()); err == nil {
		t.Error("Circuits: no error without any knowledge")
	}
	r.call(1, succeeded)
	began := time.Now()
	r.call(2, succeeded)
	if took := time.Since(began); took < 900*time.Millisecond {
		t.Errorf("two calls took %s, but the limit is two a second", took)
	}
	if c := r.circuit(); c.Rate != 2 {
		t.Errorf("circuit %+v", c)
	}
	if err := r.Open(t.Context(), api); err == nil {
		t.Error("Open: no error without Redis")
	}
	redis.Restart()
	r.soon("is back", func() bool { return r.Open(context.Background(), api) == nil })
	r.refuses(resilience.ReasonOpen, -1)
}
