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
	"backstop/resilience"
)

// circuitSuite is about what calls make of a circuit.
var circuitSuite = map[string]func(*testing.T, server){
	"lost update: of 100 concurrent failures none is lost and one trips": func(t *testing.T, s server) {
		fleet := s.fleet(t, 3, resilience.GateConfig{Failures: 100})
		var wg sync.WaitGroup
		var permits []resilience.Permit
		for i := range 100 {
			permits = append(permits, fleet[i%3].acquire())
		}
		for _, p := range permits[:99] {
			wg.Go(func() { p.Done(failed) })
		}
		wg.Wait()
		if c := fleet[0].circuit(); c.Failures != 99 || c.State != "closed" {
			t.Fatalf("after 99 failures: %+v", c)
		}
		permits[99].Done(failed)
		if c := fleet[0].circuit(); c.State != "open" || c.Trips != 1 {
			t.Fatalf("after 100 failures: %+v", c)
		}
	},
	"100 concurrent failures at a threshold of 5 trip once": func(t *testing.T, s server) {
		fleet := s.fleet(t, 3, resilience.GateConfig{})
		var permits []resilience.Permit
		for i := range 100 {
			permits = append(permits, fleet[i%3].acquire())
		}
		var wg sync.WaitGroup
		for _, p := range permits {
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
		var probe resilience.Permit
		fleet[1].soon("probes", func() bool {
			p, err := fleet[1].Acquire(context.Background(), api)
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
				p, err := fleet[i%3].Acquire(context.Background(), api)
				switch {
				case err == nil && breakerstore.IsProbe(p):
					probes.Add(1)
				case errors.Is(err, gobreaker.ErrTooManyRequests):
					refused.Add(1)
				default:
					t.Errorf("Acquire: %v, %v", p, err)
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
				p, err := r.Acquire(context.Background(), api)
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
		// The lease of a probe that is not given back would last for longer than the test.
		r := s.fleet(t, 1, resilience.GateConfig{Failures: 1, Cooldown: 50 * time.Millisecond, Timeout: time.Minute})[0]
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
		panics := func(context.Context) resilience.Result { panic("fault in a client") }
		call := func() error {
			_, err := resilience.Do(context.Background(), r, api, resilience.Within(time.Second), time.Now, panics)
			return err
		}
		var p *resilience.PanicError
		if err := call(); !errors.As(err, &p) {
			t.Fatalf("Do: %v", err)
		}
		r.refuses(resilience.ReasonOpen, 0)
		r.soon("probes", func() bool { return errors.As(call(), &p) })
		if c := r.circuit(); c.State != "open" || c.Trips != 2 {
			t.Fatalf("circuit %+v", c)
		}
	},
	"a circuit that opens while a slot is awaited lets nobody through": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{Failures: 1, Limits: []resilience.Limit{{Rate: 1, Per: time.Second}}})
		first := fleet[0].acquire()
		waited := make(chan error, 1)
		go func() {
			_, err := fleet[1].Acquire(context.Background(), api)
			waited <- err
		}()
		slots := "backstop:gate:{" + api + "}:slots"
		fleet[1].soon("waits for its slot", func() bool { return s.client(t).LLen(t.Context(), slots).Val() == 2 })
		first.Done(failed)
		if err := <-waited; !errors.Is(err, gobreaker.ErrOpenState) {
			t.Fatalf("Acquire: %v", err)
		}
	},
	"results of calls begun before a change of state change nothing": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{Cooldown: 50 * time.Millisecond})
		early := []resilience.Permit{fleet[0].acquire(), fleet[1].acquire(), fleet[1].acquire()}
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
}

// waitForProbe waits until the replica gets the probe.
func waitForProbe(r *replica) resilience.Permit {
	r.t.Helper()
	var probe resilience.Permit
	r.soon("gets the probe", func() bool {
		p, err := r.Acquire(context.Background(), api)
		if err != nil {
			return false
		}
		if !breakerstore.IsProbe(p) { // it has not yet heard that the circuit is open
			p.Done(cancelled)
			return false
		}
		probe = p
		return true
	})
	return probe
}
