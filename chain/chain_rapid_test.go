package chain_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"backstop/chain"
	"backstop/lead"
	"backstop/resilience"
)

// A script is what a course is made of, so that the same one can be run twice.
type script struct {
	lead      lead.Lead
	want      []lead.Field
	providers []scriptOfOne
	armFails  int
}

// A scriptOfOne is that of one provider.
type scriptOfOne struct {
	answers  []answer
	refusals []refusal
	rule     chain.Rule
	limit    float64 // of its credits
}

// course is a new run of the script. broken is told what must not be.
func (s script) course(t testing.TB, broken func(error)) (*course, []*scripted, *purse) {
	var ps []*scripted
	for i, one := range s.providers {
		ps = append(ps, provider(fmt.Sprintf("p%d", i), one.answers...))
	}
	c := newCourse(ps...)
	c.about(s.lead, s.want...)
	c.armFails = s.armFails
	money := newPurse(t, c)
	for i, one := range s.providers {
		p := ps[i]
		c.gate.refusals[p.name] = slices.Clone(one.refusals)
		c.rule(p, one.rule)
		money.caps[p.name] = one.limit
		p.watch = func(m made) {
			if err := c.mayCall(p, one.rule, m); err != nil {
				broken(fmt.Errorf("%s was called: %w", p.name, err))
			}
		}
	}
	return c, ps, money
}

// mayCall holds a call that is being made against the rules of asking.
func (c *course) mayCall(p *scripted, r chain.Rule, m made) error {
	facts := c.progress.Facts
	open := facts.Open(c.chain.Want)
	if len(open) == 0 && c.progress.Heard {
		return errors.New("nothing is missing")
	}
	if len(open) == 0 {
		open = c.chain.Want // the lead came with all of it, which somebody should confirm
	}
	for _, f := range m.missing {
		if !slices.Contains(open, f) || len(r.Fills) > 0 && !slices.Contains(r.Fills, f) {
			return fmt.Errorf("it is asked for %s; open is %v, it fills %v", f, open, r.Fills)
		}
	}
	if len(m.missing) == 0 {
		return errors.New("it is asked for nothing")
	}
	if m.lead != facts.Known(c.lead) {
		return errors.New("it is not asked by what is known")
	}
	for _, condition := range r.OnlyIf {
		met := map[chain.Condition]bool{
			chain.HasEmail: m.lead.Email != "", chain.HasName: m.lead.Name != "", chain.HasCompany: m.lead.Company+m.lead.Domain+m.lead.Email != "",
		}
		if !met[condition] {
			return fmt.Errorf("%s is not met", condition)
		}
	}
	return nil
}

var (
	anyAnswer = rapid.Custom(func(rt *rapid.T) answer {
		a := says(rapid.SampledFrom(append([]lead.Class{lead.ClassTransient, lead.ClassTransient}, lead.Classes...)).Draw(rt, "class"))
		if a.Class.HasData() {
			f := rapid.SampledFrom([]lead.Field{name, company, title, email, state}).Draw(rt, "field")
			a.Profile = lead.Profile{f: "known"}
			if f == email || f == state {
				a.Profile = lead.Profile{
					email: rapid.SampledFrom([]string{"x@acme.com", "y@acme.com", ""}).Draw(rt, "address"),
					state: rapid.SampledFrom([]string{"", "valid", "invalid", "accept_all", "unknown"}).Draw(rt, "state"),
				}
			}
			if rapid.Bool().Draw(rt, "dated") {
				a.AsOf = time.Date(rapid.IntRange(2020, 2022).Draw(rt, "year"), 1, 1, 0, 0, 0, 0, time.UTC)
			}
		}
		a.Billed = rapid.Bool().Draw(rt, "billed")
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
				"", "", resilience.ReasonOpen, resilience.ReasonProbe, resilience.ReasonPaused, resilience.ReasonSuspended, resilience.ReasonRate,
			}).Draw(rt, "reason"),
			time.Duration(rapid.IntRange(1, 15_000).Draw(rt, "refused for ms")) * time.Millisecond,
		}
	})
	anyRule = rapid.Custom(func(rt *rapid.T) chain.Rule {
		return chain.Rule{
			Fills:   rapid.SliceOfNDistinct(rapid.SampledFrom([]lead.Field{name, company, email, state}), 0, 2, rapid.ID).Draw(rt, "fills"),
			OnlyIf:  rapid.SliceOfNDistinct(rapid.SampledFrom([]chain.Condition{chain.HasEmail, chain.HasName, chain.HasCompany}), 0, 1, rapid.ID).Draw(rt, "only if"),
			Credits: rapid.SampledFrom([]float64{0, 1, 2}).Draw(rt, "price"),
		}
	})
	anyScript = rapid.Custom(func(rt *rapid.T) script {
		s := script{
			lead:     rapid.SampledFrom([]lead.Lead{someLead, {GivenName: "Ann"}}).Draw(rt, "lead"),
			want:     rapid.SampledFrom([][]lead.Field{{name, company}, {name, email}, {email}}).Draw(rt, "want"),
			armFails: rapid.IntRange(0, 2).Draw(rt, "arming fails"),
		}
		for range rapid.IntRange(1, 4).Draw(rt, "providers") {
			one := scriptOfOne{
				answers:  rapid.SliceOfN(anyAnswer, 1, 6).Draw(rt, "answers"),
				refusals: rapid.SliceOfN(anyRefusal, 0, 8).Draw(rt, "refusals"),
				limit:    float64(rapid.IntRange(0, 9).Draw(rt, "limit")),
			}
			if rapid.Bool().Draw(rt, "has a rule") {
				one.rule = anyRule.Draw(rt, "rule")
			}
			s.providers = append(s.providers, one)
		}
		return s
	})
)

// Whatever the providers and the gate do: the walks end, with few calls, on the
// schedule, within the budget, and the same whether or not the progress is stored
// and loaded in between. Nobody is called against the rules of asking, or for
// nothing; and what the trail says was spent is what was settled.
func TestWalksOfAnyScript(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := anyScript.Draw(rt, "script")
		var broken error
		var trails [2][]lead.TrailEntry
		var kinds [2][]chain.Kind
		for i, stored := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				breaks := func(err error) {
					if err != nil && broken == nil {
						broken = err
					}
				}
				c, ps, money := s.course(t, breaks)
				c.roundTrip = stored
				last := c.run(t)
				breaks(c.check(ps, last))
				breaks(money.check(c.trail))
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
func (c *course) check(ps []*scripted, last chain.Verdict) error {
	p, r := c.progress, c.chain.Retry
	if p.Retries > r.Max {
		return fmt.Errorf("%d retries", p.Retries)
	}
	isFull := p.Heard && len(p.Facts.Open(c.chain.Want)) == 0
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

// check holds what was settled against the trail and the caps.
func (p *purse) check(trail []lead.TrailEntry) error {
	said := spentByTrail(trail)
	for name, limit := range p.caps {
		if p.set[name] != 0 || p.spent[name] != said[name] || said[name] > limit {
			return fmt.Errorf("%s: %g credits settled of %g, %g in the trail, %g still set aside", name, p.spent[name], limit, said[name], p.set[name])
		}
	}
	return nil
}

// isPassedOver reports whether an entry is of a provider that was not called,
// because there was nothing to ask it for or by.
func isPassedOver(e lead.TrailEntry) bool {
	return e.Class == lead.ClassInvalidInput && e.Detail != ""
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
		if e.Class == lead.ClassSkip || isPassedOver(e) {
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
