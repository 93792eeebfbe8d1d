package resilience_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"backstop/lead"
	"backstop/resilience"
)

// A script is what a course is made of, so that the same one can be run twice.
type script struct {
	answers  [][]answer // by provider
	refusals [][]refusal
	armFails int
}

func (s script) course() (*course, []*scripted) {
	var ps []*scripted
	for i, answers := range s.answers {
		ps = append(ps, provider(fmt.Sprintf("p%d", i), answers...))
	}
	c := newCourse(ps...)
	for i, refusals := range s.refusals {
		c.gate.refusals[ps[i].name] = append([]refusal(nil), refusals...)
	}
	c.armFails = s.armFails
	return c, ps
}

var (
	anyAnswer = rapid.Custom(func(rt *rapid.T) answer {
		a := says(rapid.SampledFrom(append([]lead.Class{lead.ClassTransient, lead.ClassTransient}, lead.Classes...)).Draw(rt, "class"))
		if a.Class.HasData() {
			f := rapid.SampledFrom([]lead.Field{lead.PersonName, lead.CompanyName, lead.PersonTitle}).Draw(rt, "field")
			a.Profile = lead.Profile{f: "known"}
		}
		a.takes = time.Duration(rapid.IntRange(0, 7000).Draw(rt, "ms")) * time.Millisecond
		if a.Class == lead.ClassPending || a.Class == lead.ClassRateLimited {
			a.Wait = time.Duration(rapid.SampledFrom([]int{0, 0, 1, 3, 30}).Draw(rt, "wait")) * time.Second
		}
		a.panics = rapid.IntRange(0, 19).Draw(rt, "panics") == 0
		return a
	})
	anyRefusal = rapid.Custom(func(rt *rapid.T) refusal {
		return refusal{
			rapid.SampledFrom([]resilience.Reason{
				"", "", resilience.ReasonOpen, resilience.ReasonProbe, resilience.ReasonPaused, resilience.ReasonParked, resilience.ReasonRate,
			}).Draw(rt, "reason"),
			time.Duration(rapid.IntRange(1, 15_000).Draw(rt, "refused for ms")) * time.Millisecond,
		}
	})
	anyScript = rapid.Custom(func(rt *rapid.T) script {
		s := script{armFails: rapid.IntRange(0, 2).Draw(rt, "arming fails")}
		for range rapid.IntRange(1, 3).Draw(rt, "providers") {
			s.answers = append(s.answers, rapid.SliceOfN(anyAnswer, 1, 6).Draw(rt, "answers"))
			s.refusals = append(s.refusals, rapid.SliceOfN(anyRefusal, 0, 8).Draw(rt, "refusals"))
		}
		return s
	})
)

// Whatever the providers and the gate do: the walks end, with few calls, on the
// schedule, within the budget, and the same whether or not the progress is stored
// and loaded in between.
func TestWalksOfAnyScript(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := anyScript.Draw(rt, "script")
		var broken error
		var trails [2][]lead.TrailEntry
		var kinds [2][]resilience.Kind
		for i, stored := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				c, ps := s.course()
				c.roundTrip = stored
				last := c.run(t)
				if err := c.check(ps, last); err != nil && broken == nil {
					broken = err
				}
				trails[i], kinds[i] = c.trail, c.kinds()
			})
		}
		if broken != nil {
			rt.Fatal(broken)
		}
		if diff := cmp.Diff(trails[0], trails[1]) + cmp.Diff(kinds[0], kinds[1]); diff != "" {
			rt.Fatalf("a stored progress continues otherwise (-kept +stored):\n%s", diff)
		}
	})
}

// check holds what happened to a lead against the rules.
func (c *course) check(ps []*scripted, last resilience.Verdict) error {
	p, r := c.progress, c.chain.Retry
	if p.Retries > r.Max {
		return fmt.Errorf("%d retries", p.Retries)
	}
	isFull := len(p.Facts.Profile.Missing(c.chain.Want)) == 0
	if isFull != (last.Kind == full) {
		return fmt.Errorf("the end is %s, and the profile is full: %t", last.Kind, isFull)
	}
	if p.Ended != last.Kind {
		return fmt.Errorf("the end is %s, but the progress says %s", last.Kind, p.Ended)
	}
	if deadline, running := p.Deadline(r); running && time.Now().After(deadline.Add(2*time.Millisecond)) {
		return fmt.Errorf("it ended %s after the budget", time.Since(deadline))
	}
	if armed := len(c.armed) > c.armFails; armed != p.Armed {
		return fmt.Errorf("armed %t after %d tries, of which %d fail", p.Armed, len(c.armed), c.armFails)
	}
	return c.checkCalls(ps)
}

// checkCalls holds the calls and the trail against the schedule.
func (c *course) checkCalls(ps []*scripted) error {
	byName := map[string]*scripted{}
	for _, p := range ps {
		byName[p.name] = p
	}
	next := map[string]int{}      // calls seen so far
	due := map[string]time.Time{} // no call of the provider before
	failures, retries := 0, 0
	for i, e := range c.trail {
		if i > 0 && e.Attempt < c.trail[i-1].Attempt {
			return fmt.Errorf("attempt %d follows attempt %d", e.Attempt, c.trail[i-1].Attempt)
		}
		if e.Class == lead.ClassSkip {
			continue
		}
		p := byName[e.Provider]
		m := p.made[next[p.name]]
		next[p.name]++
		if !e.At.Equal(lead.At(m.began).Time) {
			return fmt.Errorf("the trail has a call of %s at %s that was made at %s", p.name, e.At, m.began)
		}
		if at, again := due[p.name]; again {
			retries++
			if m.began.Before(at) {
				return fmt.Errorf("retry %d, of %s, came %s early", retries, p.name, at.Sub(m.began))
			}
		}
		delete(due, p.name)
		if e.Class == lead.ClassTransient {
			failures++
			if retries < c.chain.Retry.Max {
				due[p.name] = m.ended.Add(c.chain.Retry.Delay(retries + 1))
			}
		}
	}
	for _, p := range ps {
		if len(p.made) != next[p.name] {
			return fmt.Errorf("%d calls of %s, %d in the trail", len(p.made), p.name, next[p.name])
		}
		if n := len(p.made); n > 1+3+6+6 { // one, retries, pendings, too fast
			return fmt.Errorf("%d calls of %s", n, p.name)
		}
	}
	if most := len(ps) + c.chain.Retry.Max; failures > most || retries > c.chain.Retry.Max || retries != c.progress.Retries {
		return fmt.Errorf("%d failures and %d retries, of which the progress counts %d", failures, retries, c.progress.Retries)
	}
	return nil
}
