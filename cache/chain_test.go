package cache_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/chain"
	"backstop/lead"
	"backstop/providers"
	"backstop/resilience"
)

// A vendor is a provider that counts what it is asked.
type vendor struct {
	endpoints []string
	counter
}

func vendorSaying(answers ...providers.Answer) *vendor {
	v := &vendor{endpoints: []string{"combined/find"}}
	v.answer = func(n int64) providers.Answer { return answers[min(int(n), len(answers))-1] }
	return v
}

func (*vendor) Name() string { return api }

func (v *vendor) Plan(l lead.Lead, _ []lead.Field) (calls []providers.Call, why string) {
	for _, e := range v.endpoints {
		calls = append(calls, providers.Call{Endpoint: e, Subject: lead.EmailKey(l.Email), Do: func(context.Context) providers.Answer { return v.call() }})
	}
	return calls, ""
}

// A watchedGate counts who enters, and looks whenever a call is done.
type watchedGate struct {
	local   *resilience.LocalGate
	entered int
	done    func()
}

func (g *watchedGate) Acquire(ctx context.Context, name string) (resilience.Permit, error) {
	g.entered++
	p, err := g.local.Acquire(ctx, name)
	return watchedPermit{p, g}, err
}

type watchedPermit struct {
	resilience.Permit
	gate *watchedGate
}

func (p watchedPermit) Done(r resilience.Result) {
	if p.gate.done != nil {
		p.gate.done()
	}
	p.Permit.Done(r)
}

var whole = providers.Answer{Class: lead.ClassOK, Status: 200, Profile: lead.Profile{lead.PersonName: "Ann Lee", lead.CompanyName: "Firm"}}

// chain is one whose only provider is v.
func (r *replica) chain(v *vendor, configs ...resilience.GateConfig) (*chain.Chain, *watchedGate) {
	gate := &watchedGate{local: resilience.NewLocalGate(configs, resilience.LocalOptions{})}
	return &chain.Chain{
		Providers: []providers.Provider{v}, Gate: gate, Want: []lead.Field{lead.PersonName, lead.CompanyName},
		Retry: resilience.DefaultRetry, Pending: chain.DefaultPending, Now: time.Now, Cache: r.Store,
	}, gate
}

// walk makes one walk of a run of the lead that nobody worked on yet.
func walk(t *testing.T, c *chain.Chain, l lead.Lead, generation int) (chain.Verdict, *chain.Progress) {
	t.Helper()
	p := chain.NewProgress(l, generation, time.Now())
	v, err := c.Walk(t.Context(), l, p, chain.Hooks{})
	if err != nil {
		t.Fatalf("Walk: %v", err)
	}
	return v, p
}

// The worker died between the answer and the writing of the progress: the next
// one knows nothing of the call.
func TestAWalkAfterACrashMakesNoSecondCall(t *testing.T) {
	for name, answer := range map[string]providers.Answer{"data": whole, "a negative": unknown} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, addr string) {
				v := vendorSaying(answer)
				dead, _ := newReplica(t, addr).chain(v)
				first, before := walk(t, dead, lead.Lead{Email: person}, 1)

				c, gate := newReplica(t, addr).chain(v)
				second, after := walk(t, c, lead.Lead{Email: person}, 1)
				if v.calls.Load() != 1 || gate.entered != 0 {
					t.Errorf("%d calls; the gate was entered %d times", v.calls.Load(), gate.entered)
				}
				if second.Kind != first.Kind {
					t.Errorf("the second walk is %s, the first %s", second.Kind, first.Kind)
				}
				if d := cmp.Diff(before.Facts, after.Facts); d != "" {
					t.Errorf("the facts (-first +second)\n%s", d)
				}
				e := second.Trail[0]
				if e.Class != answer.Class || e.Status != answer.Status || e.Millis != 0 || e.Detail != "kept answer, 0s old" || !chain.IsCached(e) {
					t.Errorf("the trail says %+v", e)
				}
				if chain.IsCached(first.Trail[0]) {
					t.Errorf("the first call's entry is %+v", first.Trail[0])
				}
			})
		})
	}
}

func TestAnAnswerIsKeptBeforeAnythingElseHappensWithIt(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		other := newReplica(t, addr)
		c, gate := newReplica(t, addr).chain(vendorSaying(whole))
		q := chain.Lookup{Key: chain.Key{Provider: api, Endpoint: "combined/find", Subject: person}}
		keptThen := false
		gate.done = func() { keptThen = other.knows(q) }
		walk(t, c, lead.Lead{Email: person}, 1)
		if !keptThen {
			t.Error("when the gate hears of it, it is not kept yet")
		}
	})
}

func TestTheSamePersonInAnotherSpellingIsNotAskedAboutAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		v := vendorSaying(whole)
		c, _ := newReplica(t, addr).chain(v)
		for _, email := range []string{"ann.lee@gmail.com", "annlee+news@googlemail.com", "an.nl.ee@gmail.com"} {
			if verdict, _ := walk(t, c, lead.Lead{Email: email}, 1); verdict.Kind != chain.KindFull {
				t.Errorf("%s", verdict.Kind)
			}
		}
		if v.calls.Load() != 1 {
			t.Errorf("%d calls", v.calls.Load())
		}
	})
}

func TestAKeptAnswerIsUsedWhileTheCircuitIsOpen(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		v := vendorSaying(whole)
		c, gate := newReplica(t, addr).chain(v)
		walk(t, c, lead.Lead{Email: person}, 1)
		gate.local.Adopt(resilience.Circuit{Provider: api, State: "open", Manual: true})
		if verdict, _ := walk(t, c, lead.Lead{Email: person}, 1); verdict.Kind != chain.KindFull {
			t.Errorf("%s", verdict.Kind)
		}
	})
}

func TestARetryThatIsAnsweredByAKeptAnswerIsNotUsedUp(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		v := vendorSaying(providers.Answer{Class: lead.ClassTransient, Status: 503}, whole)
		c, _ := newReplica(t, addr).chain(v)
		failed, p := walk(t, c, lead.Lead{Email: person}, 1)
		if failed.Kind != chain.KindRetry {
			t.Fatalf("%s", failed.Kind)
		}
		walk(t, c, lead.Lead{Email: person}, 1) // another lead of the person has more luck
		again, err := c.Walk(t.Context(), lead.Lead{Email: person}, p, chain.Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		if again.Kind != chain.KindFull || p.Retries != 0 || p.RetryOf != "" || v.calls.Load() != 2 {
			t.Errorf("%s after %d retries and %d calls", again.Kind, p.Retries, v.calls.Load())
		}
	})
}

func TestAReplayAsksAgainWhatWasNotKnown(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		v := vendorSaying(unknown, whole)
		c, _ := newReplica(t, addr).chain(v)
		walk(t, c, lead.Lead{Email: person}, 1)
		if again, _ := walk(t, c, lead.Lead{Email: person}, 1); again.Kind != chain.KindNegative || v.calls.Load() != 1 {
			t.Errorf("another lead: %s after %d calls", again.Kind, v.calls.Load())
		}
		// The replay begins in a later millisecond than the negative.
		elapse(2 * time.Millisecond)
		for _, generation := range []int{2, 3} { // the second replay uses the first one's data
			if replay, _ := walk(t, c, lead.Lead{Email: person}, generation); replay.Kind != chain.KindFull || v.calls.Load() != 2 {
				t.Errorf("generation %d: %s after %d calls", generation, replay.Kind, v.calls.Load())
			}
		}
	})
}

func TestTheTrailSaysHowOldAKeptAnswerIs(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr)
		r.now = time.Now().Add(-3*time.Hour - 12*time.Second)
		q := chain.Lookup{Key: chain.Key{Provider: api, Endpoint: "combined/find", Subject: person}}
		r.learn(q, found)
		r.now = time.Time{}
		c, _ := r.chain(vendorSaying(whole))
		v, _ := walk(t, c, lead.Lead{Email: person}, 1)
		if got := v.Trail[0].Detail; !strings.HasPrefix(got, "kept answer, 3h0m1") || !strings.HasSuffix(got, "s old: no company") {
			t.Errorf("it says %q", got)
		}
	})
}

// A lead whose budget runs does not spend it on waiting for another lead's call.
func TestALeadWhoseBudgetRunsStopsWaitingInTime(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		v := vendorSaying(whole)
		c, _ := newReplica(t, addr).chain(v)
		_, claim := newReplica(t, addr).claim(chain.Lookup{Key: chain.Key{Provider: api, Endpoint: "combined/find", Subject: person}})
		defer claim.Release(t.Context())
		l := lead.Lead{Email: person}
		p := chain.NewProgress(l, 1, time.Now())
		p.FailedAt = lead.At(time.Now().Add(-8 * time.Second)) // of a budget of 10 s
		began := time.Now()
		verdict, err := c.Walk(t.Context(), l, p, chain.Hooks{})
		if took := time.Since(began); err != nil || verdict.Kind != chain.KindFull || v.calls.Load() != 1 || took < time.Second || took > 3*time.Second {
			t.Errorf("%s, %v, with %d calls after %s", verdict.Kind, err, v.calls.Load(), took)
		}
	})
}
