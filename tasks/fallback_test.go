package tasks_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/vendors"
	"backstop/resilience"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

// A paid provider of the fallback chain says what the test tells it.
type paid struct {
	name string
	says func(context.Context) providers.Answer
}

func (p paid) Name() string { return p.name }

func (p paid) Plan(l lead.Lead, _ []lead.Field) ([]providers.Call, string) {
	return []providers.Call{{Endpoint: "find", Subject: lead.EmailKey(l.Email), Do: p.says}}, ""
}

// directoryKnows is the in-house directory with everybody in it.
func directoryKnows() providers.Provider {
	return vendors.NewDirectory(func(context.Context, string) (lead.Profile, time.Time, bool, error) {
		return lead.Profile{lead.PersonName: "Ann Lee", lead.PersonTitle: "CTO", lead.CompanyName: "Acme", lead.CompanyDomain: "acme.example"}, time.Time{}, true, nil
	})
}

// A provider of the fallback chain that cannot answer now does not keep those behind it
// from being asked, and the trail says that it was passed over.
func TestAFallbackProviderThatCannotAnswerNowIsPassedOver(t *testing.T) {
	for name, test := range map[string]struct {
		config resilience.GateConfig
		before int // calls that use up the limit
		says   providers.Answer
		want   []string
	}{
		"its limit is full": {
			config: resilience.GateConfig{Limits: []resilience.Limit{{Rate: 1, Per: time.Hour}}, MaxWait: time.Millisecond}, before: 1,
			want: []string{"fallback fallback", "paid skip", "directory ok"},
		},
		"it is still looking it up": {
			says: providers.Answer{Class: lead.ClassPending, Status: 202},
			want: []string{"fallback fallback", "paid pending", "directory ok"},
		},
		"it asks to be left alone for a while": {
			says: providers.Answer{Class: lead.ClassRateLimited, Status: 429, Wait: time.Second},
			want: []string{"fallback fallback", "paid rate_limited", "paid skip", "directory ok"},
		},
		"it fails": {
			says: providers.Answer{Class: lead.ClassTransient, Status: 503},
			want: []string{"fallback fallback", "paid transient", "directory ok"},
		},
		"its circuit is open, and closes soon": {
			config: resilience.GateConfig{Failures: 1, Cooldown: time.Second}, before: 1,
			says: providers.Answer{Class: lead.ClassTransient, Status: 503},
			want: []string{"fallback fallback", "paid skip", "directory ok"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, replicas.Faults(replicas.Down("")))
			f.Deps.Chain.Retry = replicas.Quick
			test.config.Provider = "paid"
			gate := resilience.NewLocalGate([]resilience.GateConfig{test.config}, resilience.LocalOptions{})
			f.Deps.Fallback.Gate = f.Deps.Freeze.Guard(gate)
			f.Deps.Fallback.Providers = []providers.Provider{
				paid{"paid", func(context.Context) providers.Answer { return test.says }}, directoryKnows(),
			}
			for range test.before {
				permit, err := gate.Acquire(t.Context(), "paid")
				testkit.NoError(t, err)
				permit.Done(resilience.Result{Class: test.says.Class})
			}
			f.Start()
			o := f.Outcome(f.Put("ann.lee@acme.example")[0])
			testkit.Equal(t, "status", o.Status, lead.StatusEnriched)
			trail := replicas.Classes(o.Trail)
			testkit.Equal(t, "the fallback's part of the trail", trail[len(trail)-len(test.want):], test.want)
		})
	}
}

// What an interrupted fallback asked has been paid for, and stands in the trail.
func TestAnInterruptedFallbackKeepsItsTrail(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(replicas.Down("")))
	f.Deps.Chain.Retry = replicas.Quick
	asked := make(chan struct{}, 16)
	var calls atomic.Int32
	f.Deps.Fallback.Providers = []providers.Provider{
		paid{"paid", func(context.Context) providers.Answer {
			calls.Add(1)
			return providers.Answer{Class: lead.ClassNoData, Status: 404, Billed: true}
		}},
		paid{"slow", func(ctx context.Context) providers.Answer {
			asked <- struct{}{}
			<-ctx.Done()
			if context.Cause(ctx) == context.DeadlineExceeded {
				return providers.Answer{Class: lead.ClassTransient, Detail: "time-out"}
			}
			return providers.Answer{} // given up
		}},
	}
	f.Deps.Fallback.Timeouts = map[string]time.Duration{"slow": time.Second}
	stop := f.StartWith(quickStop)
	a := f.Put("ann.lee@acme.example")[0]
	<-asked
	stop()
	f.Start()
	o := f.Outcome(a)
	paidFor := 0
	for _, class := range replicas.Classes(o.Trail) {
		if class == "paid no_data" {
			paidFor++
		}
	}
	testkit.Equal(t, "calls in the ledger", paidFor, int(calls.Load()))
}
