package chain_test

import (
	"slices"
	"testing"
	"time"

	"backstop/lead"
	"backstop/resilience"
)

func TestPendingAnswers(t *testing.T) {
	pending := says(lead.ClassPending)
	inBubble(t, map[string]func(*testing.T){
		"are asked again with growing pauses and without retries, until it takes too long": func(t *testing.T) {
			a, b := provider("a", pending), provider("b", says(lead.ClassNoData))
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, exhausted)
			equal(t, "first provider", c.starts(a), []float64{0, 2, 6, 14, 30, 62})
			equal(t, "second provider", c.starts(b), []float64{62})
			equal(t, "retries", c.progress.Retries, 0)
		},
		"are used when they come": func(t *testing.T) {
			c := newCourse(provider("a", pending, pending, knows))
			equal(t, "verdict", c.run(t).Kind, full)
		},
		"wait as long as the provider asks": func(t *testing.T) {
			a := provider("a", pending.wait(20*time.Second), knows)
			c := newCourse(a)
			c.run(t)
			equal(t, "calls", c.starts(a), []float64{0, 20})
		},
		"are not waited for when the provider asks for more than there is": func(t *testing.T) {
			a, b := provider("a", pending.wait(time.Hour)), provider("b", knows)
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "second provider", c.starts(b), []float64{0})
		},
		"do not outlast a budget that runs": func(t *testing.T) {
			a, b := provider("a", errs, pending), provider("b", knows)
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "first provider", c.starts(a), []float64{0, 1, 3, 7})
			equal(t, "second provider", c.starts(b), []float64{7})
		},
	})
}

func TestRateLimitedAnswers(t *testing.T) {
	limited := says(lead.ClassRateLimited)
	inBubble(t, map[string]func(*testing.T){
		"put the lead back for a second at least and use no retry": func(t *testing.T) {
			a := provider("a", limited, limited.wait(3*time.Second), knows)
			c := newCourse(a)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "calls", c.starts(a), []float64{0, 1, 4})
			equal(t, "crowded", c.verdicts[0].Crowded, false) // it is the provider's wish, not a backlog
			equal(t, "retries", c.progress.Retries, 0)
		},
		"are endured five times": func(t *testing.T) {
			a, b := provider("a", limited), provider("b", says(lead.ClassNoData))
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, exhausted)
			equal(t, "first provider", len(a.made), 6)
			equal(t, "second provider", len(b.made), 1)
		},
		"with a long pause send the lead to the next provider": func(t *testing.T) {
			a, b := provider("a", limited.wait(time.Minute)), provider("b", knows)
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "took", time.Since(c.began), 0)
		},
	})
}

func TestRefusals(t *testing.T) {
	inBubble(t, map[string]func(*testing.T){
		"no slot yet: the lead is put back for as long as it takes, without a trail": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", knows)
			c := newCourse(a, b)
			c.gate.refusals["a"] = slices.Repeat([]refusal{{resilience.ReasonRate, 40 * time.Second}}, 50)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "call", c.starts(a), []float64{2000})
			equal(t, "other calls", len(b.made), 0)
			equal(t, "trail", len(c.trail), 1)
			equal(t, "attempts", c.progress.Attempt, 1)
			equal(t, "crowded", c.verdicts[0].Crowded, true)
		},
		"no slot within a budget that runs: the next provider is asked": func(t *testing.T) {
			a, b := provider("a", errs), provider("b", knows)
			c := newCourse(a, b)
			c.gate.refusals["a"] = []refusal{{}, {resilience.ReasonRate, time.Minute}}
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "second provider", c.starts(b), []float64{1})
		},
		"an open circuit: the next provider is asked at once": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", knows)
			c := newCourse(a, b)
			c.gate.refusals["a"] = []refusal{{resilience.ReasonOpen, 3 * time.Second}}
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "took", time.Since(c.began), 0)
			equal(t, "skip", c.trail[0].Class, lead.ClassSkip)
		},
		"all circuits open and one reopens within the budget: the lead waits for it": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", knows)
			c := newCourse(a, b)
			c.gate.refusals["a"] = []refusal{{resilience.ReasonOpen, time.Minute}, {resilience.ReasonOpen, time.Minute}}
			c.gate.refusals["b"] = []refusal{{resilience.ReasonOpen, 5 * time.Second}}
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "call", c.starts(b), []float64{5})
			equal(t, "retries", c.progress.Retries, 0)
		},
		"all circuits open: the lead waits for the one that reopens first": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", knows)
			c := newCourse(a, b)
			c.gate.refusals["a"] = []refusal{{resilience.ReasonOpen, 4 * time.Second}}
			c.gate.refusals["b"] = []refusal{{resilience.ReasonOpen, 8 * time.Second}}
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "call", c.starts(a), []float64{4})
		},
		"all circuits open for longer: exhausted at once": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", knows)
			c := newCourse(a, b)
			c.gate.refusals["a"] = []refusal{{resilience.ReasonOpen, time.Minute}}
			c.gate.refusals["b"] = []refusal{{resilience.ReasonSuspended, time.Hour}}
			equal(t, "verdict", c.run(t).Kind, exhausted)
			equal(t, "took", time.Since(c.began), 0)
		},
		"circuits that never let a probe pass end with the budget": func(t *testing.T) {
			c := newCourse(provider("a", knows))
			c.gate.refusals["a"] = slices.Repeat([]refusal{{resilience.ReasonProbe, 100 * time.Millisecond}}, 1000)
			equal(t, "verdict", c.run(t).Kind, exhausted)
			if took := time.Since(c.began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		},
		"a gate whose clock is behind does not hold a lead beyond its budget": func(t *testing.T) {
			for _, reason := range []resilience.Reason{resilience.ReasonOpen, resilience.ReasonPaused} {
				c := newCourse(provider("a", errs))
				c.walk(t)
				c.gate.refusals["a"] = slices.Repeat([]refusal{{reason, -time.Hour}}, 1000)
				time.Sleep(11 * time.Second)
				equal(t, "verdict", c.walk(t).Kind, exhausted)
			}
		},
	})
}
