package breakerstore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sony/gobreaker/v2"

	"backstop/breakerstore"
	"backstop/lead"
	"backstop/providers"
	"backstop/resilience"
)

// The suite runs on a real Redis and on the one of embedded mode.
func TestGate(t *testing.T) {
	for kind, start := range map[string]func(*testing.T) server{"redis": realRedis, "miniredis": miniRedis} {
		t.Run(kind, func(t *testing.T) {
			for name, test := range suite {
				t.Run(name, func(t *testing.T) { test(t, start(t)) })
			}
		})
	}
}

var suite = map[string]func(*testing.T, server){
	"lost update: of 100 concurrent failures none is lost and one trips": func(t *testing.T, s server) {
		fleet := s.fleet(t, 3, resilience.GateConfig{Failures: 100})
		var wg sync.WaitGroup
		var passes []resilience.Pass
		for i := range 100 {
			passes = append(passes, fleet[i%3].enter())
		}
		for _, p := range passes[:99] {
			wg.Go(func() { p.Done(failed) })
		}
		wg.Wait()
		if c := fleet[0].circuit(); c.Failures != 99 || c.State != "closed" {
			t.Fatalf("after 99 failures: %+v", c)
		}
		passes[99].Done(failed)
		if c := fleet[0].circuit(); c.State != "open" || c.Trips != 1 {
			t.Fatalf("after 100 failures: %+v", c)
		}
	},
	"100 concurrent failures at a threshold of 5 trip once": func(t *testing.T, s server) {
		fleet := s.fleet(t, 3, resilience.GateConfig{})
		var passes []resilience.Pass
		for i := range 100 {
			passes = append(passes, fleet[i%3].enter())
		}
		var wg sync.WaitGroup
		for _, p := range passes {
			wg.Go(func() { p.Done(failed) })
		}
		wg.Wait()
		if c := fleet[0].circuit(); c.State != "open" || c.Trips != 1 {
			t.Fatalf("circuit %+v", c)
		}
		var own int
		for _, r := range fleet {
			r.sees(gobreaker.StateOpen)
			for _, tr := range r.transitions() {
				if tr.Own {
					own++
				}
			}
			if n := len(r.transitions()); n != 1 {
				t.Errorf("%s was told of %d transitions", r.name, n)
			}
		}
		if own != 1 {
			t.Errorf("%d replicas say that they opened it", own)
		}
	},
	"every transition is told once by its maker and once by each other": func(t *testing.T, s server) {
		fleet := s.fleet(t, 3, resilience.GateConfig{Cooldown: 300 * time.Millisecond})
		for _, r := range fleet {
			r.call(1, succeeded)
		}
		fleet[0].call(5, failed)
		for _, r := range fleet {
			r.sees(gobreaker.StateOpen)
		}
		var probe resilience.Pass
		fleet[1].soon("probes", func() bool {
			p, err := fleet[1].Enter(context.Background(), api)
			probe = p
			return err == nil
		})
		for _, r := range fleet {
			r.sees(gobreaker.StateHalfOpen)
		}
		probe.Done(succeeded)
		for i, r := range fleet {
			r.sees(gobreaker.StateClosed)
			type change struct {
				From, To gobreaker.State
				Own      bool
				Reason   string
			}
			var got []change
			for _, tr := range r.transitions() {
				got = append(got, change{tr.From, tr.To, tr.Own, tr.Reason})
			}
			want := []change{
				{gobreaker.StateClosed, gobreaker.StateOpen, i == 0, "5 failures in 2m0s"},
				{gobreaker.StateOpen, gobreaker.StateHalfOpen, i == 1, "cooldown over"},
				{gobreaker.StateHalfOpen, gobreaker.StateClosed, i == 1, "probe succeeded"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.name, diff)
			}
		}
	},
	"window edge: failures that have left the window do not count": func(t *testing.T, s server) {
		r := s.fleet(t, 1, resilience.GateConfig{Failures: 3, Window: time.Second})[0]
		r.call(2, failed)
		elapse(1100 * time.Millisecond)
		r.call(2, failed)
		if c := r.circuit(); c.State != "closed" || c.Failures != 2 {
			t.Fatalf("circuit %+v", c)
		}
		r.call(1, failed)
		r.refuses(resilience.ReasonOpen, 30*time.Second)
	},
	"half-open: one probe for the whole fleet": func(t *testing.T, s server) {
		fleet := s.fleet(t, 3, resilience.GateConfig{Cooldown: 200 * time.Millisecond})
		fleet[0].call(5, failed)
		for _, r := range fleet {
			r.refuses(resilience.ReasonOpen, 0)
		}
		elapse(250 * time.Millisecond)
		var probes, refused atomic.Int64
		var wg sync.WaitGroup
		for i := range 48 {
			wg.Go(func() {
				p, err := fleet[i%3].Enter(context.Background(), api)
				switch {
				case err == nil && p.Probe():
					probes.Add(1)
				case errors.Is(err, gobreaker.ErrTooManyRequests):
					refused.Add(1)
				default:
					t.Errorf("Enter: %v, %v", p, err)
				}
			})
		}
		wg.Wait()
		if probes.Load() != 1 || refused.Load() != 47 {
			t.Fatalf("%d probes, %d refused", probes.Load(), refused.Load())
		}
	},
	"a failed probe opens it again and the cooldown grows to its cap": func(t *testing.T, s server) {
		r := s.fleet(t, 1, resilience.GateConfig{Cooldown: 100 * time.Millisecond, MaxCooldown: 10 * time.Second, Failures: 1})[0]
		r.call(1, failed)
		var last time.Duration
		for range 3 {
			r.soon("probes", func() bool {
				p, err := r.Enter(context.Background(), api)
				if err != nil {
					return false
				}
				p.Done(failed)
				return true
			})
			c := r.circuit()
			left := time.Until(c.RetryAt)
			if c.State != "open" || left < last || left > 800*time.Millisecond {
				t.Fatalf("circuit %+v: opens in %s after %s", c, left, last)
			}
			last = left
		}
		if last < 400*time.Millisecond {
			t.Fatalf("the fourth cooldown ends in %s", last)
		}
	},
	"lost probe: the lease runs out and its late result changes nothing": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{Failures: 1, Cooldown: 50 * time.Millisecond, Timeout: 10 * time.Millisecond})
		fleet[0].call(1, failed)
		lost := waitForProbe(fleet[0])
		fleet[1].refuses(resilience.ReasonProbe, 0)
		second := waitForProbe(fleet[1]) // a second later
		lost.Done(succeeded)
		if c := fleet[0].circuit(); c.State != "half-open" {
			t.Fatalf("the lost probe made it %s", c.State)
		}
		second.Done(succeeded)
		if c := fleet[0].circuit(); c.State != "closed" {
			t.Fatalf("the second probe made it %s", c.State)
		}
	},
	"neutral results never count and give a probe back": func(t *testing.T, s server) {
		r := s.fleet(t, 1, resilience.GateConfig{Failures: 1, Cooldown: 50 * time.Millisecond})[0]
		for _, c := range []lead.Class{"", lead.ClassPending, lead.ClassOurBug} {
			r.call(3, resilience.Result{Class: c})
		}
		if c := r.circuit(); c.Failures != 0 || c.State != "closed" {
			t.Fatalf("circuit %+v", c)
		}
		r.call(1, failed)
		for _, c := range []lead.Class{"", lead.ClassPending, lead.ClassOurBug} {
			waitForProbe(r).Done(resilience.Result{Class: c})
		}
		waitForProbe(r).Done(succeeded)
		if c := r.circuit(); c.State != "closed" {
			t.Fatalf("circuit %+v", c)
		}
	},
	"panic: it counts as a failure and ends the probe": func(t *testing.T, s server) {
		r := s.fleet(t, 1, resilience.GateConfig{Failures: 1, Cooldown: 50 * time.Millisecond})[0]
		panics := providers.Call{Do: func(context.Context) providers.Answer { panic("fault in a client") }}
		ask := func() error {
			_, _, err := resilience.Ask(context.Background(), r, api, time.Second, panics, time.Now)
			return err
		}
		var p *resilience.PanicError
		if err := ask(); !errors.As(err, &p) {
			t.Fatalf("Ask: %v", err)
		}
		r.refuses(resilience.ReasonOpen, 0)
		r.soon("probes", func() bool { return errors.As(ask(), &p) })
		if c := r.circuit(); c.State != "open" || c.Trips != 2 {
			t.Fatalf("circuit %+v", c)
		}
	},
	"results of calls begun before a change of state change nothing": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{Cooldown: 50 * time.Millisecond})
		early := []resilience.Pass{fleet[0].enter(), fleet[1].enter(), fleet[1].enter()}
		fleet[0].call(5, failed)
		early[0].Done(failed)
		probe := waitForProbe(fleet[1])
		early[1].Done(failed)
		if c := fleet[0].circuit(); c.State != "half-open" || c.Trips != 1 {
			t.Fatalf("circuit %+v", c)
		}
		probe.Done(succeeded)
		early[2].Done(failed)
		if c := fleet[0].circuit(); c.State != "closed" || c.Failures != 0 {
			t.Fatalf("circuit %+v", c)
		}
	},
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
			r.refuses(resilience.ReasonParked, time.Hour)
		}
		rdb := s.client(t)
		if err := rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := rdb.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		fleet[0].soon("puts the parking back", func() bool { return !fleet[0].circuit().ParkedUntil.IsZero() })
		if err := fleet[1].Close(t.Context(), api); err != nil {
			t.Fatal(err)
		}
		fleet[0].soon("may call", func() bool {
			p, err := fleet[0].Enter(context.Background(), api)
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
	"a pause is obeyed by all, capped, and never cut short": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{MaxPause: time.Minute})
		a, b := fleet[0].enter(), fleet[1].enter()
		a.Done(resilience.Result{Class: lead.ClassRateLimited, Wait: 1<<63 - 1})
		b.Done(resilience.Result{Class: lead.ClassTransient, Wait: 5 * time.Second})
		for _, r := range fleet {
			r.refuses(resilience.ReasonPaused, time.Minute)
		}
		if err := fleet[0].Close(t.Context(), api); err != nil {
			t.Fatal(err)
		}
		fleet[1].soon("may call", func() bool {
			_, err := fleet[1].Enter(context.Background(), api)
			return err == nil
		})
	},
	"a short pause is waited for": func(t *testing.T, s server) {
		for _, limits := range [][]resilience.Limit{nil, {{Rate: 100, Per: time.Second}}} {
			r := s.fleet(t, 1, resilience.GateConfig{Limits: limits})[0]
			if err := r.Close(t.Context(), api); err != nil {
				t.Fatal(err)
			}
			r.call(1, resilience.Result{Class: lead.ClassTransient, Wait: 300 * time.Millisecond})
			began := time.Now()
			r.call(1, succeeded)
			if took := time.Since(began); took < 290*time.Millisecond || took > time.Second {
				t.Fatalf("limits %v: waited %s", limits, took)
			}
		}
	},
	"429s lower the shared rate once a second and it climbs back": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{Limits: []resilience.Limit{{Rate: 100, Per: time.Second}}})
		passes := []resilience.Pass{fleet[0].enter(), fleet[1].enter(), fleet[0].enter()}
		for _, p := range passes {
			p.Done(rateLimited)
		}
		if c := fleet[1].circuit(); c.Limit != 100 || c.Rate < 70 || c.Rate > 75 {
			t.Fatalf("%v of %v a second", c.Rate, c.Limit)
		}
		before := fleet[1].circuit().Rate
		elapse(500 * time.Millisecond)
		if c := fleet[1].circuit(); c.Rate <= before {
			t.Fatalf("the rate stays at %v", c.Rate)
		}
		if err := fleet[1].Close(t.Context(), api); err != nil {
			t.Fatal(err)
		}
		if c := fleet[0].circuit(); c.Rate != 100 {
			t.Fatalf("closed by hand: %v a second", c.Rate)
		}
	},
	"a refused key parks it for those who use that key": func(t *testing.T, s server) {
		old := s.fleet(t, 2, resilience.GateConfig{Fingerprint: "old"})
		renewed := s.fleet(t, 1, resilience.GateConfig{Fingerprint: "new"}, func(o *breakerstore.Options) { o.Replica = "renewed" })
		old[0].call(1, resilience.Result{Class: lead.ClassAuth})
		for _, r := range old {
			r.refuses(resilience.ReasonParked, -1)
		}
		renewed[0].call(1, succeeded)
		c := old[1].circuit()
		if c.ParkedFor != "auth" || !c.ParkedUntil.Equal(resilience.Indefinitely) {
			t.Fatalf("circuit %+v", c)
		}
		renewed[0].call(1, resilience.Result{Class: lead.ClassAuth})
		renewed[0].refuses(resilience.ReasonParked, -1)
		old[0].refuses(resilience.ReasonParked, -1)
		if err := renewed[0].Close(t.Context(), api); err != nil {
			t.Fatal(err)
		}
		old[0].soon("may call", func() bool {
			_, err := old[0].Enter(context.Background(), api)
			return err == nil
		})
	},
	"opened by hand it stays open until closed by hand": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{Cooldown: 50 * time.Millisecond})
		early := fleet[1].enter()
		if err := fleet[0].Open(t.Context(), api); err != nil {
			t.Fatal(err)
		}
		for _, r := range fleet {
			r.refuses(resilience.ReasonOpen, -1)
		}
		early.Done(succeeded)
		elapse(100 * time.Millisecond)
		if r := fleet[1].refusal(); !r.RetryAt.IsZero() {
			t.Fatalf("refusal %v", r)
		}
		if c := fleet[1].circuit(); c.State != "open" || !c.Manual {
			t.Fatalf("circuit %+v", c)
		}
		if err := fleet[1].Close(t.Context(), api); err != nil {
			t.Fatal(err)
		}
		for _, r := range fleet {
			r.sees(gobreaker.StateClosed)
			if n := len(r.transitions()); n != 2 {
				t.Errorf("%s was told of %d transitions", r.name, n)
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
	"failures from one replica do not open it where two are asked for": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{MinReplicas: 2})
		fleet[0].call(20, failed)
		if c := fleet[0].circuit(); c.State != "closed" {
			t.Fatalf("circuit %+v", c)
		}
		fleet[1].call(1, failed)
		if c := fleet[0].circuit(); c.State != "open" {
			t.Fatalf("circuit %+v", c)
		}
	},
	"a failure ratio opens it once there are enough calls": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{Failures: 100, FailureRatio: 0.5, MinCalls: 10})
		fleet[0].call(4, succeeded)
		fleet[0].call(4, failed)
		fleet[1].call(1, failed)
		if c := fleet[0].circuit(); c.State != "closed" {
			t.Fatalf("circuit %+v", c)
		}
		fleet[1].call(1, failed)
		fleet[0].sees(gobreaker.StateOpen)
		if got := fleet[0].transitions()[0].Reason; got != "6 of 10 calls failed in 2m0s" {
			t.Fatalf("reason %q", got)
		}
	},
	"a slot beyond the patience is refused with its time": func(t *testing.T, s server) {
		r := s.fleet(t, 1, resilience.GateConfig{Limits: []resilience.Limit{{Rate: 2, Per: time.Hour}}})[0]
		r.call(2, succeeded)
		refusal := r.refusal()
		if left := time.Until(refusal.RetryAt); refusal.Reason != resilience.ReasonRate || left > time.Hour+time.Second || left < time.Hour-time.Minute {
			t.Fatalf("refusal %+v", refusal)
		}
	},
	"a slot is reserved on all limits at once": func(t *testing.T, s server) {
		r := s.fleet(t, 1, resilience.GateConfig{Limits: []resilience.Limit{{Rate: 50, Per: time.Second}, {Rate: 5, Per: time.Minute}}})[0]
		began := time.Now()
		r.call(5, succeeded)
		if took := time.Since(began); took < 80*time.Millisecond {
			t.Fatalf("five calls in %s keep no spacing", took)
		}
		if refusal := r.refusal(); time.Until(refusal.RetryAt) < 50*time.Second {
			t.Fatalf("refusal %+v", refusal)
		}
	},
	"a cancelled wait ends at once": func(t *testing.T, s server) {
		r := s.fleet(t, 1, resilience.GateConfig{Limits: []resilience.Limit{{Rate: 1, Per: time.Second}}})[0]
		r.call(1, succeeded)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := r.Enter(ctx, api); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Enter: %v", err)
		}
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Fatalf("it took %s", took)
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
		want := []string{"circuit", "failures", "reporters", "calls", "slots"}
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

// waitForProbe waits until the replica gets the probe.
func waitForProbe(r *replica) resilience.Pass {
	r.t.Helper()
	var probe resilience.Pass
	r.soon("gets the probe", func() bool {
		p, err := r.Enter(context.Background(), api)
		if err != nil {
			return false
		}
		if !p.Probe() {
			r.t.Fatalf("%s: Enter gave a pass that is no probe", r.name)
		}
		probe = p
		return true
	})
	return probe
}
