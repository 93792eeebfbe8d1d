package chain_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/chain"
	"backstop/lead"
	"backstop/resilience"
)

// kinds of verdict, for short.
const (
	full      = chain.KindFull
	retry     = chain.KindRetry
	snooze    = chain.KindSnooze
	negative  = chain.KindNegative
	exhausted = chain.KindExhausted
	suppress  = chain.KindSuppress
)

func inBubble(t *testing.T, tests map[string]func(*testing.T)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestConsequenceOfEachClass(t *testing.T) {
	name := lead.PersonName
	for class, want := range map[lead.Class]struct {
		first  chain.Kind // verdict of the first walk
		second int        // calls that the second provider got in it
	}{
		lead.ClassOK:             {negative, 1},
		lead.ClassPartial:        {negative, 1},
		lead.ClassNoData:         {negative, 1},
		lead.ClassInvalidInput:   {negative, 1},
		lead.ClassPending:        {snooze, 0},
		lead.ClassTransient:      {retry, 0},
		lead.ClassRateLimited:    {snooze, 0},
		lead.ClassQuotaExhausted: {exhausted, 1},
		lead.ClassAuth:           {exhausted, 1},
		lead.ClassOurBug:         {exhausted, 1},
		lead.ClassForbidden:      {suppress, 0},
	} {
		t.Run(string(class), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := provider("a", says(class, name)), provider("b", says(lead.ClassNoData))
				c := newCourse(a, b)
				v := c.walk(t)
				equal(t, "verdict", v.Kind, want.first)
				equal(t, "calls of the second provider", len(b.made), want.second)
				equal(t, "what the gate heard", c.gate.done[0], resilience.Result{Class: class})
				equal(t, "merged", c.progress.Facts.Profile[name] != "", class.HasData())
				ends := want.first != retry && want.first != snooze
				equal(t, "the chain ended", c.progress.Ended != "", ends)
				equal(t, "a budget runs", !c.progress.FailedAt.IsZero(), class == lead.ClassTransient)
			})
		})
	}
	if n := len(lead.Classes); n != 11 {
		t.Errorf("there are %d classes; this test knows 11", n)
	}
}

func TestRetries(t *testing.T) {
	inBubble(t, map[string]func(*testing.T){
		"come after 1, 2 and 4 seconds, then the next provider is asked": func(t *testing.T) {
			a, b := provider("a", errs), provider("b", errs)
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, exhausted)
			equal(t, "first provider", c.starts(a), []float64{0, 1, 3, 7})
			equal(t, "second provider", c.starts(b), []float64{7})
			equal(t, "retries", c.progress.Retries, 3)
			equal(t, "kinds", c.kinds(), []chain.Kind{retry, retry, retry, exhausted})
			attempts := []int{}
			for _, e := range c.trail {
				attempts = append(attempts, e.Attempt)
			}
			equal(t, "attempts", attempts, []int{1, 2, 3, 4, 4})
		},
		"are never shorter than the schedule, counted from the end of the failed call": func(t *testing.T) {
			a := provider("a", errs.after(700*time.Millisecond+time.Microsecond))
			c := newCourse(a)
			c.run(t)
			if len(a.made) < 3 {
				t.Fatalf("only %d calls", len(a.made))
			}
			for i := 1; i < len(a.made); i++ {
				if gap := a.made[i].began.Sub(a.made[i-1].ended); gap < resilience.DefaultRetry.Delay(i) {
					t.Errorf("retry %d came after %s", i, gap)
				}
			}
		},
		"stop when one succeeds": func(t *testing.T) {
			a, b := provider("a", errs, errs, knows), provider("b", errs)
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "retries", c.progress.Retries, 2)
			equal(t, "second provider", len(b.made), 0)
		},
		"are counted over all providers of a lead": func(t *testing.T) {
			a, b := provider("a", errs, says(lead.ClassNoData)), provider("b", errs)
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, exhausted)
			equal(t, "first provider", c.starts(a), []float64{0, 1})
			equal(t, "second provider", c.starts(b), []float64{1, 3, 7})
			equal(t, "retries", c.progress.Retries, 3)
		},
		"are not counted when the circuit refuses them": func(t *testing.T) {
			a, b := provider("a", errs), provider("b", says(lead.ClassNoData))
			c := newCourse(a, b)
			c.walk(t)
			c.gate.refusals["a"] = []refusal{{resilience.ReasonOpen, time.Minute}}
			time.Sleep(time.Second)
			equal(t, "verdict", c.walk(t).Kind, exhausted)
			equal(t, "retries", c.progress.Retries, 0)
		},
		"are not counted when the worker dies during the call": func(t *testing.T) {
			a := provider("a", errs, hangs, knows)
			c := newCourse(a)
			c.walk(t)
			stored, err := c.progress.Encode()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := c.chain.Walk(ctx, someLead, c.progress, c.hooks()); !errors.Is(err, context.Canceled) {
				t.Fatalf("Walk: %v", err)
			}
			if c.progress, err = chain.LoadProgress(stored, someLead, 1, time.Now()); err != nil {
				t.Fatal(err)
			}
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "retries", c.progress.Retries, 1)
		},
		"are counted and bounded when a circuit sends the lead to and fro": func(t *testing.T) {
			// The first provider is refused every other time; each visit of either fails.
			a, b := provider("a", errs), provider("b", errs)
			c := newCourse(a, b)
			open := refusal{resilience.ReasonOpen, time.Second}
			c.gate.refusals["a"] = []refusal{{}, open, {}, open, {}, open, {}, open, {}, open}
			equal(t, "verdict", c.run(t).Kind, exhausted)
			if n := len(a.made) + len(b.made); n > 2+3 {
				t.Errorf("%d calls of two providers, want at most one each and three retries", n)
			}
			if c.progress.Retries > 3 {
				t.Errorf("%d retries", c.progress.Retries)
			}
		},
	})
}

func TestBudget(t *testing.T) {
	inBubble(t, map[string]func(*testing.T){
		"a provider that hangs leaves time for the one behind it": func(t *testing.T) {
			a, b := provider("a", hangs), provider("b", knows)
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "first provider", c.starts(a), []float64{0, 6})
			equal(t, "second provider", c.starts(b), []float64{9.5})
		},
		"also when its time-out is longer than the budget": func(t *testing.T) {
			a, b := provider("a", hangs), provider("b", knows)
			c := newCourse(a, b)
			c.chain.Timeouts = map[string]time.Duration{"a": time.Minute}
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "second provider", c.starts(b), []float64{9.5})
		},
		"a retry that would leave the next provider no time is not waited for": func(t *testing.T) {
			a, b := provider("a", errs.after(900*time.Millisecond)), provider("b", knows)
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "first provider", c.starts(a), []float64{0, 1.9, 4.8})
			equal(t, "second provider", c.starts(b), []float64{5.7})
		},
		"ends in time when everything hangs": func(t *testing.T) {
			c := newCourse(provider("a", hangs), provider("b", hangs), provider("c", hangs))
			equal(t, "verdict", c.run(t).Kind, exhausted)
			if took := time.Since(c.began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		},
		"ends in time when the gate makes calls wait": func(t *testing.T) {
			a, b := provider("a", hangs), provider("b", hangs)
			c := newCourse(a, b)
			c.gate.waits["a"], c.gate.waits["b"] = 2*time.Second, 2*time.Second
			equal(t, "verdict", c.run(t).Kind, exhausted)
			// The budget runs from the beginning of the first call.
			if took := time.Since(a.made[0].began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		},
		"a slot that comes too late is given back and counts for nothing": func(t *testing.T) {
			a, b := provider("a", hangs), provider("b", knows)
			c := newCourse(a, b)
			c.gate.waits["b"] = 400 * time.Millisecond // of the 500 that are left
			equal(t, "verdict", c.run(t).Kind, exhausted)
			equal(t, "calls of the second", len(b.made), 0)
			equal(t, "what the gate heard last", c.gate.done[len(c.gate.done)-1], resilience.Result{})
			last := c.trail[len(c.trail)-1]
			equal(t, "trail", []string{last.Provider, string(last.Class)}, []string{"b", "skip"})
		},
		"does not run while nothing failed": func(t *testing.T) {
			c := newCourse(provider("a", says(lead.ClassNoData).after(4*time.Second)), provider("b", knows.after(4*time.Second)))
			c.chain.Retry.Budget = 6 * time.Second
			equal(t, "verdict", c.run(t).Kind, full)
		},
		"a late failure counts its time from the call that failed": func(t *testing.T) {
			a, b := provider("a", says(lead.ClassNoData).after(4*time.Second)), provider("b", errs)
			c := newCourse(a, b)
			c.run(t)
			equal(t, "armed for", c.armed, []time.Duration{14 * time.Second})
			equal(t, "second provider", c.starts(b), []float64{4, 5, 7, 11})
		},
	})
}

func TestArming(t *testing.T) {
	inBubble(t, map[string]func(*testing.T){
		"the first failed call arms the fallback, once, for the end of the budget": func(t *testing.T) {
			c := newCourse(provider("a", errs), provider("b", errs))
			c.roundTrip = true
			c.run(t)
			equal(t, "armed for", c.armed, []time.Duration{10 * time.Second})
		},
		"a failure to arm is made good by the next failed call": func(t *testing.T) {
			c := newCourse(provider("a", errs), provider("b", errs))
			c.roundTrip, c.armFails = true, 2
			c.run(t)
			equal(t, "armed for", c.armed, []time.Duration{10 * time.Second, 10 * time.Second, 10 * time.Second})
			equal(t, "armed", c.progress.Armed, true)
		},
		"nothing is armed while nothing failed": func(t *testing.T) {
			c := newCourse(provider("a", says(lead.ClassPending), says(lead.ClassNoData)), provider("b", knows))
			c.run(t)
			equal(t, "armed", len(c.armed), 0)
		},
		"waiting for circuits arms it too": func(t *testing.T) {
			c := newCourse(provider("a", knows))
			c.gate.refusals["a"] = []refusal{{resilience.ReasonOpen, 3 * time.Second}}
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "armed for", c.armed, []time.Duration{10 * time.Second})
		},
	})
}
