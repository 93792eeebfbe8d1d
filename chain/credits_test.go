package chain_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"backstop/chain"
	"backstop/lead"
	"backstop/providers"
	"backstop/resilience"
)

// A purse has so many credits for each provider that it knows, and any number for
// the others. It fails the test when something is settled that was not reserved.
type purse struct {
	t        testing.TB
	caps     map[string]float64
	set      map[string]float64 // aside
	spent    map[string]float64
	reserved []float64 // in order
	settled  []float64 // in order
	err      error     // of the next Reserve
}

func newPurse(t testing.TB, c *course) *purse {
	p := &purse{t: t, caps: map[string]float64{}, set: map[string]float64{}, spent: map[string]float64{}}
	c.chain.Credits = p
	return p
}

var nextMonth = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

func (p *purse) Reserve(_ context.Context, name string, price float64) (chain.Reservation, error) {
	if p.err != nil {
		return nil, p.err
	}
	if limit, ok := p.caps[name]; ok && p.set[name]+p.spent[name]+price > limit {
		return nil, &chain.CapReached{Provider: name, Cap: limit, Per: "month", Until: nextMonth}
	}
	p.set[name] += price
	p.reserved = append(p.reserved, price)
	return &set{purse: p, provider: name, price: price}, nil
}

type set struct {
	purse    *purse
	provider string
	price    float64
	over     bool
}

func (s *set) Commit(_ context.Context, spent float64) {
	if s.over || spent > s.price || spent < 0 {
		s.purse.t.Errorf("settled with %g of %g, a second time: %t", spent, s.price, s.over)
	}
	s.over = true
	s.purse.set[s.provider] -= s.price
	s.purse.spent[s.provider] += spent
	s.purse.settled = append(s.purse.settled, spent)
}

// nothingSet fails the test if a reservation was forgotten.
func (p *purse) nothingSet() {
	p.t.Helper()
	for name, credits := range p.set {
		if credits != 0 {
			p.t.Errorf("%g credits of %s stay set aside", credits, name)
		}
	}
}

// spentByTrail are the credits that a trail says were spent, by provider.
func spentByTrail(trail []lead.TrailEntry) map[string]float64 {
	sum := map[string]float64{}
	for _, e := range trail {
		sum[e.Provider] += e.Credits
	}
	return sum
}

// kept are answers of one process, which makes no two calls at a time.
type kept struct {
	answers map[chain.Lookup]providers.Answer
	leases  int // not ended
}

func (k *kept) GetOrLease(_ context.Context, q chain.Lookup) (*chain.Entry, chain.Lease, error) {
	q.MaxWait, q.NegativesSince = 0, time.Time{}
	if a, ok := k.answers[q]; ok {
		return &chain.Entry{Answer: a, At: time.Now()}, nil, nil
	}
	k.leases++
	return nil, &lease{kept: k, lookup: q}, nil
}

type lease struct {
	kept   *kept
	lookup chain.Lookup
	over   bool
}

func (c *lease) Release(ctx context.Context) { c.Fill(ctx, providers.Answer{}) }

func (c *lease) Fill(_ context.Context, a providers.Answer) {
	if c.over {
		return
	}
	c.over = true
	c.kept.leases--
	if a.Class.HasData() || a.Class.IsNegative() {
		c.kept.answers[c.lookup] = a
	}
}

// priced gives each call of a provider a price.
func (c *course) priced(p *scripted, credits float64) { c.rule(p, chain.Rule{Credits: credits}) }

func TestCredits(t *testing.T) {
	inBubble(t, map[string]func(*testing.T){
		"are set aside before a call and spent by its answer": func(t *testing.T) {
			a := provider("a", knows.billed())
			c := newCourse(a)
			p := newPurse(t, c)
			c.priced(a, 2)
			a.watch = func(made) { equal(t, "set aside during the call", p.set["a"], 2.0) }
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "settled", p.settled, []float64{2})
			equal(t, "credits in the trail", c.trail[0].Credits, 2.0)
			p.nothingSet()
		},
		"that nothing can count make the lead wait for a moment": func(t *testing.T) {
			a := provider("a", knows.billed())
			c := newCourse(a)
			p := newPurse(t, c)
			c.priced(a, 2)
			p.err = &chain.CapReached{Provider: "a", Cap: 9, Per: "day", Until: time.Now().Add(time.Second), Unknown: true}
			equal(t, "verdict", c.walk(t).Kind, chain.KindSnooze)
			equal(t, "trail", len(c.trail), 0)
			p.err = nil
			equal(t, "verdict", c.run(t).Kind, full)
		},
		"that nothing can count are passed over by a chain that does not wait": func(t *testing.T) {
			a, b := provider("a", knows.billed()), provider("b", knows)
			c := newCourse(a, b)
			p := newPurse(t, c)
			c.priced(a, 2)
			c.chain.NoWait = true
			p.err = &chain.CapReached{Provider: "a", Cap: 9, Per: "day", Until: time.Now().Add(time.Second), Unknown: true}
			equal(t, "verdict", c.walk(t).Kind, full)
			equal(t, "first entry", c.trail[0].Class, lead.ClassSkip)
		},
		"are given back for an answer that costs nothing": func(t *testing.T) {
			a := provider("a", says(lead.ClassNoData))
			c := newCourse(a)
			p := newPurse(t, c)
			c.priced(a, 2)
			c.run(t)
			equal(t, "settled", p.settled, []float64{0})
			equal(t, "credits in the trail", c.trail[0].Credits, 0.0)
		},
		"are those of the endpoint": func(t *testing.T) {
			a := provider("a", says(lead.ClassPartial, name).billed(), says(lead.ClassPartial, company).billed(), says(lead.ClassPartial, title).billed())
			a.endpoints = []string{"find", "verify", "free"}
			c := newCourse(a)
			c.about(someLead, name, company, title)
			p := newPurse(t, c)
			c.rule(a, chain.Rule{Credits: 2, Prices: map[string]float64{"verify": 0.5, "free": 0}})
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "settled", p.settled, []float64{2, 0.5})
			equal(t, "credits in the trail", spentByTrail(c.trail), map[string]float64{"a": 2.5})
		},
		"are in the trail also where nothing is capped": func(t *testing.T) {
			a := provider("a", knows.billed())
			c := newCourse(a)
			c.priced(a, 2)
			c.run(t)
			equal(t, "credits in the trail", c.trail[0].Credits, 2.0)
		},
		"are given back when the gate refuses": func(t *testing.T) {
			a, b := provider("a", knows.billed()), provider("b", knows.billed())
			c := newCourse(a, b)
			p := newPurse(t, c)
			c.priced(a, 2)
			c.gate.refusals["a"] = []refusal{{resilience.ReasonOpen, time.Minute}}
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "settled", p.settled, []float64{0})
			p.nothingSet()
		},
		"are given back when the slot comes too late": func(t *testing.T) {
			a, b := provider("a", hangs), provider("b", knows.billed())
			c := newCourse(a, b)
			p := newPurse(t, c)
			c.priced(b, 2)
			c.gate.waits["b"] = 400 * time.Millisecond
			equal(t, "verdict", c.run(t).Kind, exhausted)
			equal(t, "settled", p.settled, []float64{0})
		},
		"stay counted when the caller goes away, because the request was sent": func(t *testing.T) {
			a := provider("a", hangs.billed())
			c := newCourse(a)
			p := newPurse(t, c)
			c.priced(a, 2)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := c.chain.Walk(ctx, c.lead, c.progress, c.hooks()); !errors.Is(err, context.Canceled) {
				t.Fatalf("Walk: %v", err)
			}
			equal(t, "settled", p.settled, []float64{2})
			equal(t, "trail", len(c.trail), 0)
		},
		"are given back when the client panics": func(t *testing.T) {
			a := provider("a", answer{panics: true}, knows.billed())
			c := newCourse(a)
			p := newPurse(t, c)
			c.priced(a, 2)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "settled", p.settled, []float64{0, 2})
			p.nothingSet()
		},
		"are not set aside for a kept answer": func(t *testing.T) {
			a := provider("a", knows.billed())
			a.subject = "ann@example.com"
			answers := &kept{answers: map[chain.Lookup]providers.Answer{}}
			for i, want := range [][]float64{{2}, nil} {
				c := newCourse(a)
				c.chain.Cache = answers
				p := newPurse(t, c)
				c.priced(a, 2)
				equal(t, "verdict", c.run(t).Kind, full)
				equal(t, "reserved", p.reserved, want)
				equal(t, "kept", chain.IsCached(c.trail[0]), i == 1)
				equal(t, "credits in the trail", spentByTrail(c.trail)["a"], map[int]float64{0: 2, 1: 0}[i])
			}
			equal(t, "claims", answers.leases, 0)
		},
		"and no retry is used up by a kept answer": func(t *testing.T) {
			a := provider("a", errs.billed(), knows.billed())
			a.subject = "ann@example.com"
			answers := &kept{answers: map[chain.Lookup]providers.Answer{}}
			c, other := newCourse(a), newCourse(a)
			c.chain.Cache, other.chain.Cache = answers, answers
			p := newPurse(t, c)
			c.priced(a, 2)
			equal(t, "verdict", c.walk(t).Kind, retry)
			equal(t, "verdict of another lead", other.walk(t).Kind, full)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "retries", c.progress.Retries, 0)
			equal(t, "settled", p.settled, []float64{2})
		},
		"are spent once on an answer that was pending": func(t *testing.T) {
			a := provider("a", says(lead.ClassPending).billed(), says(lead.ClassPending).billed(), errs.billed(), knows.billed())
			c := newCourse(a)
			c.roundTrip = true
			p := newPurse(t, c)
			c.priced(a, 2)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "settled", p.settled, []float64{2})
			equal(t, "credits in the trail", spentByTrail(c.trail), map[string]float64{"a": 2})
		},
		"are spent at the end of a pending answer that was free": func(t *testing.T) {
			a := provider("a", says(lead.ClassPending), knows.billed())
			c := newCourse(a)
			p := newPurse(t, c)
			c.priced(a, 2)
			c.run(t)
			equal(t, "settled", p.settled, []float64{0, 2})
		},
		"are spent by each try that may have been charged": func(t *testing.T) {
			a := provider("a", errs.billed(), errs.billed(), knows.billed())
			c := newCourse(a)
			c.roundTrip = true
			p := newPurse(t, c)
			c.priced(a, 2)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "settled", p.settled, []float64{2, 2, 2})
			equal(t, "credits in the trail", spentByTrail(c.trail), map[string]float64{"a": 6})
		},
	})
}

func TestCapsOfCredits(t *testing.T) {
	inBubble(t, map[string]func(*testing.T){
		"send the lead to the next provider, and the reason into the trail": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", knows)
			c := newCourse(a, b)
			p := newPurse(t, c)
			p.caps["a"] = 5
			p.spent["a"] = 4
			c.priced(a, 2)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "calls", []int{len(a.made), len(b.made)}, []int{0, 1})
			equal(t, "trail", []string{string(c.trail[0].Class), c.trail[0].Detail},
				[]string{"skip", "the cap of 5 credits a month is reached until 2027-01-01T00:00:00.000Z"})
			equal(t, "the gate is not passed", len(c.gate.done), 1)
		},
		"are a failure where nobody else knows": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", says(lead.ClassNoData))
			c := newCourse(a, b)
			newPurse(t, c).caps["a"] = 1
			c.priced(a, 2)
			equal(t, "verdict", c.run(t).Kind, exhausted)
		},
		"end the claim on the answer": func(t *testing.T) {
			a := provider("a", knows)
			a.subject = "ann@example.com"
			c := newCourse(a)
			answers := &kept{answers: map[chain.Lookup]providers.Answer{}}
			c.chain.Cache = answers
			newPurse(t, c).caps["a"] = 1
			c.priced(a, 2)
			equal(t, "verdict", c.run(t).Kind, exhausted)
			equal(t, "claims", answers.leases, 0)
		},
		"do not keep a kept answer away": func(t *testing.T) {
			a := provider("a", knows.billed())
			a.subject = "ann@example.com"
			answers := &kept{answers: map[chain.Lookup]providers.Answer{}}
			for range 2 {
				c := newCourse(a)
				c.chain.Cache = answers
				c.priced(a, 2)
				if len(a.made) > 0 {
					newPurse(t, c).caps["a"] = 1
				}
				equal(t, "verdict", c.run(t).Kind, full)
			}
			equal(t, "calls", len(a.made), 1)
		},
		"are looked at by each walk anew": func(t *testing.T) {
			a, b := provider("a", knows.billed()), provider("b", errs, says(lead.ClassNoData))
			c := newCourse(a, b)
			p := newPurse(t, c)
			p.caps["a"] = 1
			c.priced(a, 2)
			equal(t, "verdict", c.walk(t).Kind, retry)
			p.caps["a"] = 2 // another lead gave some back
			time.Sleep(time.Second)
			equal(t, "verdict", c.walk(t).Kind, full)
		},
		"do not matter to calls that cost nothing": func(t *testing.T) {
			a := provider("a", knows)
			c := newCourse(a)
			newPurse(t, c).caps["a"] = 0
			equal(t, "verdict", c.run(t).Kind, full)
		},
		"that cannot be looked at because the caller went away end the walk": func(t *testing.T) {
			a := provider("a", knows)
			a.subject = "ann@example.com"
			c := newCourse(a)
			answers := &kept{answers: map[chain.Lookup]providers.Answer{}}
			c.chain.Cache = answers
			newPurse(t, c).err = context.Canceled
			c.priced(a, 2)
			if _, err := c.chain.Walk(t.Context(), c.lead, c.progress, c.hooks()); !errors.Is(err, context.Canceled) {
				t.Errorf("Walk: %v", err)
			}
			equal(t, "calls and claims", []int{len(a.made), answers.leases}, []int{0, 0})
		},
	})
	e := &chain.CapReached{Provider: "a", Cap: 0.5, Per: "day", Until: nextMonth}
	equal(t, "error", e.Error(), "a: the cap of 0.5 credits a day is reached until 2027-01-01T00:00:00.000Z")
}

func TestTicketsOfPendingAnswers(t *testing.T) {
	pending := says(lead.ClassPending)
	inBubble(t, map[string]func(*testing.T){
		"are what is asked with, in every walk, until there is an answer": func(t *testing.T) {
			a := provider("a", pending.ticket("t1"), pending, errs, pending.ticket("t2"), says(lead.ClassPartial, name), says(lead.ClassPartial, company))
			a.polls, a.endpoints = true, []string{"one", "two"}
			c := newCourse(a)
			c.roundTrip = true
			equal(t, "verdict", c.run(t).Kind, full)
			var tickets, endpoints []string
			for _, m := range a.made {
				tickets, endpoints = append(tickets, m.ticket), append(endpoints, m.endpoint)
			}
			equal(t, "tickets", tickets, []string{"", "t1", "t1", "t1", "t2", ""})
			equal(t, "endpoints", endpoints, []string{"one", "one", "one", "one", "one", "two"})
			if n := len(c.progress.Asked["a"].Tickets); n != 0 {
				t.Errorf("%d tickets are kept after the answer", n)
			}
		},
		"are of no use to a call that cannot be asked for": func(t *testing.T) {
			a := provider("a", pending.ticket("t1"), knows)
			c := newCourse(a)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "calls", len(a.made), 2)
		},
		"are not given out by an answer without one": func(t *testing.T) {
			a := provider("a", pending, knows)
			a.polls = true
			c := newCourse(a)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "polled", a.made[1].polled, false)
		},
	})
}

// What was ordered with a ticket is under way, and is charged when it is done.
func TestTicketsAndCaps(t *testing.T) {
	pending := says(lead.ClassPending)
	inBubble(t, map[string]func(*testing.T){
		"what was ordered stays counted and is fetched when the cap is reached": func(t *testing.T) {
			a := provider("a", pending.ticket("t1"), pending, knows.billed())
			a.polls = true
			c := newCourse(a)
			p := newPurse(t, c)
			c.priced(a, 2)
			c.roundTrip = true
			equal(t, "verdict", c.walk(t).Kind, snooze)
			equal(t, "counted while it is under way", p.settled, []float64{2})
			p.caps["a"] = 0
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "set aside again", p.settled, []float64{2})
			equal(t, "spent by the trail", spentByTrail(c.trail)["a"], 2.0)
		},
		"an order that came to nothing is not spent": func(t *testing.T) {
			a := provider("a", pending.ticket("t1"), says(lead.ClassNoData))
			a.polls = true
			c := newCourse(a)
			newPurse(t, c)
			c.priced(a, 2)
			c.run(t)
			equal(t, "spent by the trail", spentByTrail(c.trail)["a"], 0.0)
		},
		"what has no ticket is ordered anew, and counted anew": func(t *testing.T) {
			a := provider("a", pending, knows.billed())
			c := newCourse(a)
			p := newPurse(t, c)
			c.priced(a, 2)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "settled", p.settled, []float64{0, 2})
			p.nothingSet()
		},
	})
}
