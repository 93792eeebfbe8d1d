package chain_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"backstop/chain"
	"backstop/lead"
	"backstop/resilience"
)

func TestEndOfTheChain(t *testing.T) {
	name, company := lead.PersonName, lead.CompanyName
	inBubble(t, map[string]func(*testing.T){
		"valid negatives only are negative": func(t *testing.T) {
			c := newCourse(provider("a", says(lead.ClassNoData)), provider("b", says(lead.ClassInvalidInput)))
			equal(t, "verdict", c.run(t).Kind, negative)
		},
		"providers that cannot be asked are a negative with its reason in the trail": func(t *testing.T) {
			a := provider("a")
			a.cannot = "has no email address"
			c := newCourse(a)
			equal(t, "verdict", c.run(t).Kind, negative)
			equal(t, "detail", c.trail[0].Detail, "has no email address")
		},
		"data that is not all is negative": func(t *testing.T) {
			c := newCourse(provider("a", says(lead.ClassPartial, name)), provider("b", says(lead.ClassNoData)))
			equal(t, "verdict", c.run(t).Kind, negative)
		},
		"one failure beside negatives is exhausted": func(t *testing.T) {
			c := newCourse(provider("a", says(lead.ClassNoData)), provider("b", says(lead.ClassAuth)))
			equal(t, "verdict", c.run(t).Kind, exhausted)
		},
		"what two providers know together is full": func(t *testing.T) {
			a, b := provider("a", says(lead.ClassPartial, name)), provider("b", says(lead.ClassPartial, company))
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "origin", c.progress.Facts.Provenance[company].Provider, "b")
		},
		"a failure of one provider does not spoil a full profile": func(t *testing.T) {
			c := newCourse(provider("a", says(lead.ClassOurBug)), provider("b", knows))
			equal(t, "verdict", c.run(t).Kind, full)
		},
		"forbidden erases what others said": func(t *testing.T) {
			c := newCourse(provider("a", says(lead.ClassPartial, name)), provider("b", says(lead.ClassForbidden)), provider("c", knows))
			equal(t, "verdict", c.run(t).Kind, suppress)
			equal(t, "facts", c.progress.Facts, lead.Facts{})
		},
		"every endpoint of a provider is asked, each until it has answered": func(t *testing.T) {
			a := provider("a", says(lead.ClassPartial, name), errs, says(lead.ClassPartial, company))
			a.endpoints = []string{"person", "company"}
			c := newCourse(a)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "calls", c.starts(a), []float64{0, 0, 1})
		},
		"a lead that came full is confirmed by one call": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", knows)
			c := newCourse(a, b)
			c.progress.Facts.Merge(lead.Profile{name: "Ann", company: "Example"}, lead.Origin{Provider: lead.OriginSource}, nil)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "calls", len(a.made)+len(b.made), 1)
			equal(t, "name", c.progress.Facts.Provenance[name].Provider, lead.OriginSource)
		},
		"a lead that came full and that nobody knows is not full": func(t *testing.T) {
			c := newCourse(provider("a", says(lead.ClassNoData)), provider("b", says(lead.ClassNoData)))
			c.progress.Facts.Merge(lead.Profile{name: "Ann", company: "Example"}, lead.Origin{Provider: lead.OriginSource}, nil)
			equal(t, "verdict", c.run(t).Kind, chain.KindNegative)
		},
	})
}

func TestPanicOfAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := provider("a", answer{panics: true}, knows)
		c := newCourse(a)
		var told []error
		c.onPanic = func(name string, err *resilience.PanicError) {
			if name != "a" || err.Value == nil || len(err.Stack) == 0 {
				t.Errorf("told of provider %q, %+v", name, err)
			}
			told = append(told, err)
		}
		equal(t, "verdict", c.walk(t).Kind, retry)
		equal(t, "told", len(told), 1)
		equal(t, "error text", told[0].Error(), "a provider's client panicked") // the value may hold personal data
		equal(t, "what the gate heard", c.gate.done, []resilience.Result{{Class: lead.ClassTransient}})
		time.Sleep(time.Second)
		equal(t, "verdict", c.walk(t).Kind, full)
	})
}

func TestCancelledWalk(t *testing.T) {
	inBubble(t, map[string]func(*testing.T){
		"in a call is neutral for the circuit": func(t *testing.T) {
			c := newCourse(provider("a", hangs))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, err := c.chain.Walk(ctx, someLead, c.progress, c.hooks())
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("Walk: %v", err)
			}
			equal(t, "what the gate heard", c.gate.done, []resilience.Result{{}})
			equal(t, "trail", len(c.trail), 0)
			equal(t, "armed", len(c.armed), 0)
		},
		"at the gate makes no call": func(t *testing.T) {
			a := provider("a", knows)
			c := newCourse(a)
			c.gate.waits["a"] = time.Minute
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := c.chain.Walk(ctx, someLead, c.progress, c.hooks()); !errors.Is(err, context.Canceled) {
				t.Fatalf("Walk: %v", err)
			}
			equal(t, "calls", len(a.made), 0)
		},
	})
}

// The real gate's circuit opens at the fifth failed lead; those that come later
// are sent on without a call.
func TestChainWithALocalGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := resilience.NewLocalGate([]resilience.GateConfig{{Provider: "a"}, {Provider: "b"}}, resilience.LocalOptions{})
		a, b := provider("a", errs), provider("b", knows)
		for n := range 7 {
			c := newCourse(a, b)
			c.chain.Gate = gate
			v := c.walk(t)
			if want := map[bool]chain.Kind{true: retry, false: full}[n < 5]; v.Kind != want {
				t.Fatalf("lead %d: %s, want %s", n+1, v.Kind, want)
			}
		}
		equal(t, "calls of the first", len(a.made), 5)
		equal(t, "calls of the second", len(b.made), 2)
	})
}
