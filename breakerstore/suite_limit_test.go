package breakerstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/breakerstore"
	"backstop/lead"
	"backstop/resilience"
)

// limitSuite is about pauses, suspensions, limits, and what is done by hand.
var limitSuite = map[string]func(*testing.T, server){
	"a pause is obeyed by all, capped, and never cut short": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{MaxPause: time.Minute})
		a, b := fleet[0].acquire(), fleet[1].acquire()
		a.Done(resilience.Result{Class: lead.ClassRateLimited, Wait: 1<<63 - 1})
		b.Done(resilience.Result{Class: lead.ClassTransient, Wait: 5 * time.Second})
		for _, r := range fleet {
			r.refuses(resilience.ReasonPaused, time.Minute)
		}
		if err := fleet[0].Close(t.Context(), api); err != nil {
			t.Fatal(err)
		}
		fleet[1].soon("may call", func() bool {
			_, err := fleet[1].Acquire(context.Background(), api)
			return err == nil
		})
	},
	"a short pause is waited for": func(t *testing.T, s server) {
		for _, limits := range [][]resilience.Limit{nil, {{Rate: 100, Per: time.Second}}} {
			r := s.fleet(t, 1, resilience.GateConfig{Limits: limits})[0]
			if err := r.Close(t.Context(), api); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			r.call(1, resilience.Result{Class: lead.ClassTransient, Wait: 300 * time.Millisecond})
			r.call(1, succeeded)
			if took := time.Since(began); took < 300*time.Millisecond || took > 2*time.Second {
				t.Fatalf("limits %v: waited %s", limits, took)
			}
		}
	},
	"429s lower the shared rate once a second and it climbs back": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{Limits: []resilience.Limit{{Rate: 100, Per: time.Second}}})
		permits := []resilience.Permit{fleet[0].acquire(), fleet[1].acquire(), fleet[0].acquire()}
		for _, p := range permits {
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
	"a refused key suspends it for those who use that key": func(t *testing.T, s server) {
		old := s.fleet(t, 2, resilience.GateConfig{Fingerprint: "old"})
		renewed := s.fleet(t, 1, resilience.GateConfig{Fingerprint: "new"}, func(o *breakerstore.Options) { o.Replica = "renewed" })
		old[0].call(1, resilience.Result{Class: lead.ClassAuth})
		for _, r := range old {
			r.refuses(resilience.ReasonSuspended, -1)
		}
		renewed[0].call(1, succeeded)
		c := old[1].circuit()
		if c.SuspendedFor != "auth" || !c.SuspendedUntil.Equal(resilience.Indefinitely) {
			t.Fatalf("circuit %+v", c)
		}
		renewed[0].call(1, resilience.Result{Class: lead.ClassAuth})
		renewed[0].refuses(resilience.ReasonSuspended, -1)
		old[0].refuses(resilience.ReasonSuspended, -1)
		if err := renewed[0].Close(t.Context(), api); err != nil {
			t.Fatal(err)
		}
		old[0].soon("may call", func() bool {
			_, err := old[0].Acquire(context.Background(), api)
			return err == nil
		})
	},
	"opened by hand it stays open until closed by hand": func(t *testing.T, s server) {
		fleet := s.fleet(t, 2, resilience.GateConfig{Cooldown: 50 * time.Millisecond})
		early := fleet[1].acquire()
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
	"a slot beyond MaxWait is refused with its time": func(t *testing.T, s server) {
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
		if _, err := r.Acquire(ctx, api); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Acquire: %v", err)
		}
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Fatalf("it took %s", took)
		}
	},
}
