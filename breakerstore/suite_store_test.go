package breakerstore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/breakerstore"
	"backstop/lead"
	"backstop/resilience"
)

// storeSuite is about what is in Redis, and what becomes of it.
var storeSuite = map[string]func(*testing.T, server){
	"stale replay: a Redis without the last writes gets them again": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{})
		rdb := s.client(t)
		key := "backstop:gate:{" + api + "}:circuit"
		fleet[0].call(1, succeeded)
		fleet[1].call(1, succeeded)
		old, err := rdb.HGetAll(t.Context(), key).Result()
		if err != nil || len(old) == 0 {
			t.Fatalf("HGETALL: %v, %v", old, err)
		}
		fleet[0].call(5, failed)
		fleet[1].sees(gobreaker.StateOpen)
		if err := rdb.HSet(t.Context(), key, old).Err(); err != nil {
			t.Fatal(err)
		}
		fleet[0].soon("puts the open circuit back", func() bool { return fleet[0].circuit().State == "open" })
		for _, r := range fleet {
			r.refuses(resilience.ReasonOpen, 30*time.Second)
			if n := len(r.transitions()); n != 1 {
				t.Errorf("%s was told of %d transitions", r.name, n)
			}
		}
	},
	"flush: what replicas know is put back and nothing is refused for good": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{Limits: []resilience.Limit{{Rate: 100, Per: time.Second}}})
		fleet[0].call(1, resilience.Result{Class: lead.ClassQuotaExhausted, Until: time.Now().Add(time.Hour)})
		for _, r := range fleet {
			r.refuses(resilience.ReasonSuspended, time.Hour)
		}
		rdb := s.client(t)
		if err := rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := rdb.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		fleet[0].soon("puts the suspension back", func() bool { return !fleet[0].circuit().SuspendedUntil.IsZero() })
		if err := fleet[1].Close(t.Context(), api); err != nil {
			t.Fatal(err)
		}
		fleet[0].soon("may call", func() bool {
			p, err := fleet[0].Acquire(context.Background(), api)
			if err == nil {
				p.Done(succeeded)
			}
			return err == nil
		})
	},
	"SCRIPT FLUSH costs nobody a call": func(t *testing.T, s server) {
		r := s.fleet(t, 1, resilience.GateConfig{Limits: []resilience.Limit{{Rate: 1000, Per: time.Second}}})[0]
		rdb := s.client(t)
		for range 5 {
			r.call(3, failed)
			if err := rdb.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(t.Context(), api); err != nil {
				t.Fatal(err)
			}
		}
	},
	"a process that only looks on sees everything, writes nothing and is no replica": func(t *testing.T, s server) {
		looker := s.fleet(t, 1, resilience.GateConfig{}, func(o *breakerstore.Options) { o.Replica = "looker" })[0]
		if c := looker.circuit(); c.State != "closed" || c.Trips != 0 {
			t.Fatalf("before anybody called: %+v", c)
		}
		elapse(300 * time.Millisecond)
		if keys := s.client(t).Keys(t.Context(), "*").Val(); len(keys) != 0 {
			t.Fatalf("it wrote %q", keys)
		}
		r := s.fleet(t, 1, resilience.GateConfig{})[0]
		r.call(5, failed)
		if c := looker.circuit(); c.State != "open" || c.RetryAt.IsZero() {
			t.Fatalf("circuit %+v", c)
		}
		if err := looker.Close(t.Context(), api); err != nil {
			t.Fatal(err)
		}
		r.sees(gobreaker.StateClosed)
		r.call(1, succeeded)
	},
	"a replica decides by the clock that it was given": func(t *testing.T, s server) {
		var ahead atomic.Int64
		r := s.fleet(t, 1, resilience.GateConfig{Cooldown: time.Hour}, func(o *breakerstore.Options) {
			o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			o.Poll = time.Hour
		})[0]
		r.call(5, failed)
		if left := time.Until(r.refusal().RetryAt); left < 59*time.Minute || left > time.Hour {
			t.Fatalf("the circuit opens in %s", left)
		}
		rdb := s.client(t)
		if err := rdb.FlushAll(t.Context()).Err(); err != nil { // only a call of Redis puts the circuit back
			t.Fatal(err)
		}
		r.refusal()
		if n := rdb.Exists(t.Context(), "backstop:gate:{"+api+"}:circuit").Val(); n != 0 {
			t.Fatal("a refusal by the replica's own knowledge called Redis")
		}
		ahead.Store(int64(61 * time.Minute))
		r.call(1, succeeded) // the cooldown is over: Redis gives the probe
		if c := r.circuit(); c.State != "closed" {
			t.Fatalf("after the probe: %+v", c)
		}
	},
	"every key has an expiry and the prefix": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{
			Limits: []resilience.Limit{{Rate: 100, Per: time.Second}}, FailureRatio: 1, MinCalls: 100,
		}, func(o *breakerstore.Options) { o.Prefix = "tenant-7" })
		fleet[0].call(3, failed)
		rdb := s.client(t)
		fleet[0].soon("is counted", func() bool { return rdb.Exists(t.Context(), "tenant-7:gate:replicas").Val() == 1 })
		keys := rdb.Keys(t.Context(), "*").Val()
		want := []string{"circuit", "failures", "calls", "slots"}
		if len(keys) != len(want)+1 {
			t.Fatalf("keys %q", keys)
		}
		for _, k := range want {
			ttl, err := rdb.PTTL(t.Context(), "tenant-7:gate:{"+api+"}:"+k).Result()
			if err != nil || ttl <= 0 {
				t.Errorf("%s expires in %s, %v", k, ttl, err)
			}
		}
		if ttl := rdb.PTTL(t.Context(), "tenant-7:gate:replicas").Val(); ttl <= 0 {
			t.Errorf("replicas expire in %s", ttl)
		}
	},
}
