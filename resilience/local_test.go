package resilience_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sony/gobreaker/v2"
	"pgregory.net/rapid"

	"backstop/lead"
	"backstop/resilience"
)

const api = "clearbit"

var (
	succeeded = resilience.Result{Class: lead.ClassOK}
	failed    = resilience.Result{Class: lead.ClassTransient}
	cancelled = resilience.Result{}
)

// localGate returns a gate for the provider api alone, and what its hook was told.
func localGate(cfg resilience.GateConfig) (*resilience.LocalGate, func() []string) {
	var mu sync.Mutex
	var seen []string
	cfg.Provider = api
	g := resilience.NewLocalGate([]resilience.GateConfig{cfg}, resilience.LocalOptions{Hook: func(t resilience.Transition) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, t.From.String()+" to "+t.To.String()+": "+t.Reason)
	}})
	return g, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

func acquire(t *testing.T, g resilience.Gate) resilience.Permit {
	t.Helper()
	permit, err := g.Acquire(t.Context(), api)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return permit
}

// call makes calls that end with r.
func call(t *testing.T, g resilience.Gate, n int, r resilience.Result) {
	t.Helper()
	for range n {
		acquire(t, g).Done(r)
	}
}

// refused checks that the gate refuses for this reason until after the duration;
// a negative one means for good.
func refused(t *testing.T, g resilience.Gate, why resilience.Reason, after time.Duration) {
	t.Helper()
	_, err := g.Acquire(t.Context(), api)
	var r *resilience.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("Acquire: %v, want a refusal", err)
	}
	want := &resilience.Refusal{Provider: api, Reason: why}
	if after >= 0 {
		want.RetryAt = time.Now().Add(after)
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Fatalf("refusal (-want +got):\n%s", diff)
	}
}

func circuit(t *testing.T, g *resilience.LocalGate) resilience.Circuit {
	t.Helper()
	all := g.Circuits()
	if len(all) != 1 {
		t.Fatalf("circuits: %v", all)
	}
	return all[0]
}

func TestLocalCircuit(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"five failures open it and one good probe closes it": func(t *testing.T) {
			g, seen := localGate(resilience.GateConfig{})
			call(t, g, 5, failed)
			refused(t, g, resilience.ReasonOpen, 30*time.Second)
			time.Sleep(30 * time.Second)
			probe := acquire(t, g)
			if got := circuit(t, g).State; got != "half-open" {
				t.Fatalf("the first call after the cooldown is not the probe: the circuit is %s", got)
			}
			refused(t, g, resilience.ReasonProbe, 7500*time.Millisecond)
			probe.Done(succeeded)
			call(t, g, 1, succeeded)
			want := []string{"closed to open: 5 failures in 2m0s", "open to half-open: cooldown over", "half-open to closed: probe succeeded"}
			if diff := cmp.Diff(want, seen()); diff != "" {
				t.Fatal(diff)
			}
		},
		"failures across the edge of a fixed window open it": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			time.Sleep(119 * time.Second)
			call(t, g, 3, failed)
			time.Sleep(2 * time.Second)
			call(t, g, 2, failed)
			refused(t, g, resilience.ReasonOpen, 30*time.Second)
		},
		"failures that have left the window do not count": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			call(t, g, 1, failed)
			time.Sleep(time.Second)
			call(t, g, 3, failed)
			time.Sleep(119 * time.Second)
			call(t, g, 1, failed)
			if got := circuit(t, g); got.State != "closed" || got.Failures != 4 {
				t.Fatalf("circuit %+v", got)
			}
			call(t, g, 1, failed)
			refused(t, g, resilience.ReasonOpen, 30*time.Second)
		},
		"neutral results never count": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			for _, c := range []lead.Class{"", lead.ClassPending, lead.ClassOurBug} {
				call(t, g, 20, resilience.Result{Class: c})
			}
			if got := circuit(t, g); got.State != "closed" || got.Failures != 0 {
				t.Fatalf("circuit %+v", got)
			}
		},
		"a neutral probe is given back": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			call(t, g, 5, failed)
			time.Sleep(30 * time.Second)
			for range 3 {
				acquire(t, g).Done(cancelled)
			}
			acquire(t, g).Done(succeeded)
			call(t, g, 2, succeeded)
		},
		"a lost probe is replaced and its late result changes nothing": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			call(t, g, 5, failed)
			time.Sleep(30 * time.Second)
			lost := acquire(t, g)
			time.Sleep(7500 * time.Millisecond)
			second := acquire(t, g)
			lost.Done(failed)
			refused(t, g, resilience.ReasonProbe, 7500*time.Millisecond)
			second.Done(succeeded)
			call(t, g, 1, succeeded)
		},
		"results of calls begun before it opened change nothing": func(t *testing.T) {
			g, seen := localGate(resilience.GateConfig{})
			early := []resilience.Permit{acquire(t, g), acquire(t, g)}
			call(t, g, 5, failed)
			time.Sleep(30 * time.Second)
			probe := acquire(t, g)
			early[0].Done(succeeded)
			early[1].Done(failed)
			refused(t, g, resilience.ReasonProbe, 7500*time.Millisecond)
			probe.Done(succeeded)
			if n := len(seen()); n != 3 {
				t.Fatalf("transitions: %q", seen())
			}
		},
		"results of calls begun before another gate closed it change nothing": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			early := acquire(t, g)
			call(t, g, 5, failed)
			g.Adopt(resilience.Circuit{Provider: api, State: "closed"})
			call(t, g, 4, failed)
			early.Done(failed)
			call(t, g, 1, succeeded)
		},
		"a permit counts once": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			permit := acquire(t, g)
			for range 9 {
				permit.Done(failed)
			}
			if got := circuit(t, g).Failures; got != 1 {
				t.Fatalf("%d failures", got)
			}
		},
		"the cooldown doubles after each failed probe, up to its cap": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{MaxCooldown: 100 * time.Second})
			call(t, g, 5, failed)
			for _, cooldown := range []time.Duration{30, 60, 100, 100} {
				refused(t, g, resilience.ReasonOpen, cooldown*time.Second)
				time.Sleep(cooldown*time.Second - 1)
				refused(t, g, resilience.ReasonOpen, time.Nanosecond)
				time.Sleep(time.Nanosecond)
				call(t, g, 1, failed)
			}
			time.Sleep(100 * time.Second)
			call(t, g, 1, succeeded)
			call(t, g, 5, failed)
			refused(t, g, resilience.ReasonOpen, 30*time.Second)
		},
		"a failure ratio opens it once there are enough calls": func(t *testing.T) {
			g, seen := localGate(resilience.GateConfig{Failures: 100, FailureRatio: 0.5, MinCalls: 10})
			call(t, g, 5, failed)
			call(t, g, 4, succeeded)
			call(t, g, 1, failed)
			refused(t, g, resilience.ReasonOpen, 30*time.Second)
			if diff := cmp.Diff([]string{"closed to open: 6 of 10 calls failed in 2m0s"}, seen()); diff != "" {
				t.Fatal(diff)
			}
		},
		"one that another gate knew as opened by hand stays open until closed": func(t *testing.T) {
			g, seen := localGate(resilience.GateConfig{})
			g.Adopt(resilience.Circuit{Provider: api, State: "open", Manual: true})
			time.Sleep(24 * time.Hour)
			refused(t, g, resilience.ReasonOpen, -1)
			if got := circuit(t, g); got.State != "open" || !got.Manual {
				t.Fatalf("circuit %+v", got)
			}
			g.Adopt(resilience.Circuit{Provider: api, State: "closed"})
			call(t, g, 1, succeeded)
			if got := seen(); len(got) > 0 {
				t.Fatalf("the other gate tells of it, and so did this one: %q", got)
			}
		},
		"a hook may use the gate": func(t *testing.T) {
			var g *resilience.LocalGate
			g = resilience.NewLocalGate([]resilience.GateConfig{{Provider: api}}, resilience.LocalOptions{
				Hook: func(tr resilience.Transition) {
					if tr.To == gobreaker.StateOpen {
						g.Adopt(resilience.Circuit{Provider: api, State: "closed"})
					}
				}})
			call(t, g, 23, failed)
		},
		"it takes over what another gate knew": func(t *testing.T) {
			g, seen := localGate(resilience.GateConfig{})
			g.Adopt(resilience.Circuit{Provider: api, State: "open", RetryAt: time.Now().Add(7 * time.Second), Trips: 3})
			refused(t, g, resilience.ReasonOpen, 7*time.Second)
			time.Sleep(7 * time.Second)
			call(t, g, 1, failed)
			if got := circuit(t, g).Trips; got != 4 {
				t.Fatalf("%d trips", got)
			}
			if diff := cmp.Diff([]string{"open to half-open: cooldown over", "half-open to open: probe failed"}, seen()); diff != "" {
				t.Fatal(diff)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

func TestLocalPauses(t *testing.T) {
	tenASecond := resilience.GateConfig{Limits: []resilience.Limit{{Rate: 10, Per: time.Second}}}
	for name, test := range map[string]func(*testing.T){
		"a wait beyond MaxWait is refused": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			call(t, g, 1, resilience.Result{Class: lead.ClassRateLimited, Wait: 10 * time.Second})
			refused(t, g, resilience.ReasonPaused, 10*time.Second)
		},
		"a short wait is waited for": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			call(t, g, 1, resilience.Result{Class: lead.ClassRateLimited})
			began := time.Now()
			call(t, g, 1, succeeded)
			if got := time.Since(began); got != resilience.DefaultPause {
				t.Fatalf("waited %s", got)
			}
		},
		"absurd waits are capped and negative ones ignored": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{MaxPause: time.Minute})
			call(t, g, 1, resilience.Result{Class: lead.ClassOK, Wait: -time.Hour})
			call(t, g, 1, resilience.Result{Class: lead.ClassTransient, Wait: 1<<63 - 1})
			refused(t, g, resilience.ReasonPaused, time.Minute)
		},
		"a shorter wait does not cut a longer one": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			a, b := acquire(t, g), acquire(t, g)
			a.Done(resilience.Result{Class: lead.ClassRateLimited, Wait: time.Minute})
			b.Done(resilience.Result{Class: lead.ClassRateLimited, Wait: 5 * time.Second})
			refused(t, g, resilience.ReasonPaused, time.Minute)
		},
		"the wait of a pending answer concerns its lead alone": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			call(t, g, 1, resilience.Result{Class: lead.ClassPending, Wait: time.Minute})
			call(t, g, 1, succeeded)
		},
		"rate_limited lowers the rate once a second and it climbs back": func(t *testing.T) {
			g, _ := localGate(tenASecond)
			permits := []resilience.Permit{acquire(t, g), acquire(t, g), acquire(t, g)}
			for _, p := range permits {
				p.Done(resilience.Result{Class: lead.ClassRateLimited})
			}
			if got := circuit(t, g); got.Rate != 7 || got.Limit != 10 {
				t.Fatalf("%v of %v a second", got.Rate, got.Limit)
			}
			time.Sleep(30 * time.Second)
			if got := circuit(t, g).Rate; got != 10 {
				t.Fatalf("after 30 s: %v a second", got)
			}
		},
		"a used-up quota suspends it until the reset": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			call(t, g, 1, resilience.Result{Class: lead.ClassQuotaExhausted, Until: time.Now().Add(9 * time.Hour)})
			refused(t, g, resilience.ReasonSuspended, 9*time.Hour)
			if got := circuit(t, g); got.SuspendedFor != "quota_exhausted" {
				t.Fatalf("circuit %+v", got)
			}
			time.Sleep(9 * time.Hour)
			call(t, g, 1, succeeded)
		},
		"a refused key suspends it until somebody acts": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{})
			call(t, g, 1, resilience.Result{Class: lead.ClassAuth})
			time.Sleep(1000 * time.Hour)
			refused(t, g, resilience.ReasonSuspended, -1)
			if got := circuit(t, g); !got.SuspendedUntil.Equal(resilience.Indefinitely) || got.SuspendedFor != "auth" {
				t.Fatalf("circuit %+v", got)
			}
			g.Adopt(resilience.Circuit{Provider: api, State: "closed"})
			call(t, g, 1, succeeded)
		},
		"a cancelled wait ends at once and gives its slot back": func(t *testing.T) {
			g, _ := localGate(tenASecond)
			call(t, g, 1, succeeded)
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if _, err := g.Acquire(ctx, api); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Acquire: %v", err)
			}
			call(t, g, 1, succeeded)
			if got := time.Since(began); got != 102*time.Millisecond {
				t.Fatalf("the next call went after %s", got)
			}
		},
		"a pause that begins while a slot is awaited holds the call": func(t *testing.T) {
			g, _ := localGate(tenASecond)
			first := acquire(t, g)
			var went time.Duration
			began := time.Now()
			var wg sync.WaitGroup
			wg.Go(func() { call(t, g, 1, succeeded); went = time.Since(began) })
			synctest.Wait()
			first.Done(resilience.Result{Class: lead.ClassTransient, Wait: time.Second})
			wg.Wait()
			if went < time.Second {
				t.Fatalf("went after %s", went)
			}
		},
		"a slot beyond MaxWait is refused with its time": func(t *testing.T) {
			g, _ := localGate(resilience.GateConfig{Limits: []resilience.Limit{{Rate: 2, Per: time.Hour}}})
			call(t, g, 2, succeeded)
			refused(t, g, resilience.ReasonRate, time.Hour+250*time.Millisecond)
		},
		"an unknown provider has no limits": func(t *testing.T) {
			g := resilience.NewLocalGate(nil, resilience.LocalOptions{})
			call(t, g, 1000, succeeded)
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

// In no sliding window of any limit do more calls start than it allows, whatever
// the limits, the callers, their 429s and the number of replicas.
func TestLocalLimitsHoldInEverySlidingWindow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limits := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) resilience.Limit {
			return resilience.Limit{
				Rate: rapid.IntRange(1, 40).Draw(rt, "rate"),
				Per:  rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, time.Minute}).Draw(rt, "per"),
			}
		}), 1, 3).Draw(rt, "limits")
		share := rapid.IntRange(1, 3).Draw(rt, "share")
		callers := rapid.IntRange(1, 8).Draw(rt, "callers")
		tooFast := rapid.IntRange(2, 50).Draw(rt, "every so manieth answer is a 429")
		synctest.Test(t, func(t *testing.T) {
			g := resilience.NewLocalGate([]resilience.GateConfig{{Provider: api, Limits: limits, MaxWait: time.Hour}}, resilience.LocalOptions{})
			g.SetShare(share)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			var mu sync.Mutex
			var starts []time.Time
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for {
						permit, err := g.Acquire(ctx, api)
						if err != nil {
							return
						}
						mu.Lock()
						starts = append(starts, time.Now())
						n := len(starts)
						mu.Unlock()
						if n%tooFast == 0 {
							permit.Done(resilience.Result{Class: lead.ClassRateLimited})
						} else {
							permit.Done(succeeded)
						}
					}
				})
			}
			wg.Wait()
			for _, l := range limits {
				most := max(l.Rate/share, 1)
				for i := most; i < len(starts); i++ {
					if gap := starts[i].Sub(starts[i-most]); gap < l.Per {
						rt.Fatalf("%d calls within %s, but a replica of %d may make %d of %s", most+1, gap, share, most, l)
					}
				}
			}
		})
	})
}

func TestLocalLimitIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := localGate(resilience.GateConfig{MaxWait: time.Hour, Limits: []resilience.Limit{
			{Rate: 10, Per: time.Second}, {Rate: 300, Per: time.Minute}}})
		began := time.Now()
		call(t, g, 300*5+1, succeeded)
		if got := 300 * time.Since(began).Minutes() / (300 * 5); got > 300/291.0 {
			t.Fatalf("five minutes' calls took %s", time.Since(began))
		}
	})
}
