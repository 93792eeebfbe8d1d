package chain_test

import (
	"context"
	"testing"
	"time"

	"backstop/chain"
	"backstop/lead"
	"backstop/providers"
	"backstop/resilience"
)

// An answer is what a scripted provider says to one call, and how it says it.
type answer struct {
	providers.Answer
	takes  time.Duration // longer than the call's deadline: it is cut off there
	panics bool
}

func says(class lead.Class, fields ...lead.Field) answer {
	a := answer{Answer: providers.Answer{Class: class}}
	for _, f := range fields {
		if a.Profile == nil {
			a.Profile = lead.Profile{}
		}
		a.Profile[f] = "known"
		if f == lead.PersonName {
			a.Profile[f] = "Ann Known" // every lead is an Ann, if it has a name
		}
	}
	return a
}

func (a answer) after(d time.Duration) answer { a.takes = d; return a }

func (a answer) wait(d time.Duration) answer { a.Wait = d; return a }

func (a answer) billed() answer { a.Billed = true; return a }

func (a answer) ticket(s string) answer { a.Ticket = s; return a }

// tells is an answer with data.
func tells(p lead.Profile) answer {
	return answer{Answer: providers.Answer{Class: lead.ClassOK, Profile: p}}
}

var (
	errs  = says(lead.ClassTransient)
	hangs = says(lead.ClassOK).after(time.Hour)
	knows = says(lead.ClassOK, lead.PersonName, lead.CompanyName)
)

// A made is a call that reached a provider, and what it was planned by.
type made struct {
	began, ended time.Time
	endpoint     string
	polled       bool   // it asks for the answer to an earlier one …
	ticket       string // … with this
	lead         lead.Lead
	missing      []lead.Field
}

// A scripted provider gives its answers one after the other, the last one again
// and again.
type scripted struct {
	name      string
	answers   []answer
	endpoints []string // one by default
	within    string   // the endpoint that has all that the others have
	cannot    string   // why there is nothing to call
	subject   string   // its answers may be kept
	polls     bool     // it gives out tickets
	watch     func(made)
	made      []made
}

func provider(name string, answers ...answer) *scripted {
	return &scripted{name: name, answers: answers}
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) Plan(l lead.Lead, missing []lead.Field) ([]providers.Call, string) {
	if s.cannot != "" {
		return nil, s.cannot
	}
	endpoints := s.endpoints
	if endpoints == nil {
		endpoints = []string{"find"}
	}
	calls := make([]providers.Call, len(endpoints))
	for i, e := range endpoints {
		m := made{endpoint: e, lead: l, missing: missing}
		calls[i] = providers.Call{
			Endpoint: e, Subject: s.subject, Within: s.within,
			Do: func(ctx context.Context) providers.Answer { return s.do(ctx, m) },
		}
		if s.polls {
			calls[i].Poll = func(ctx context.Context, ticket string) providers.Answer {
				m.polled, m.ticket = true, ticket
				return s.do(ctx, m)
			}
		}
	}
	return calls, ""
}

func (s *scripted) do(ctx context.Context, m made) providers.Answer {
	a := s.answers[min(len(s.made), len(s.answers)-1)]
	m.began = time.Now()
	if s.watch != nil {
		s.watch(m)
	}
	defer func() {
		m.ended = time.Now()
		s.made = append(s.made, m)
	}()
	if a.panics {
		panic("ann@example.com broke the client")
	}
	select {
	case <-time.After(a.takes):
		return a.Answer
	case <-ctx.Done():
		if ctx.Err() == context.Canceled {
			return providers.Answer{Detail: "cancelled"}
		}
		return providers.Answer{Class: lead.ClassTransient, Detail: "time-out"}
	}
}

// A scriptedGate refuses as it is told, one refusal for each Acquire, and lets
// everything else pass. It remembers how the calls ended.
type scriptedGate struct {
	refusals map[string][]refusal
	waits    map[string]time.Duration // in each Acquire
	done     []resilience.Result
}

// A refusal lasts for so long from the Acquire on; the zero one lets the call pass.
type refusal struct {
	reason resilience.Reason
	lasts  time.Duration
}

func (g *scriptedGate) Acquire(ctx context.Context, name string) (resilience.Permit, error) {
	select {
	case <-time.After(g.waits[name]):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if rs := g.refusals[name]; len(rs) > 0 {
		g.refusals[name] = rs[1:]
		if rs[0].reason != "" {
			return nil, &resilience.Refusal{Provider: name, Reason: rs[0].reason, RetryAt: time.Now().Add(rs[0].lasts)}
		}
	}
	return scriptedPermit{g}, nil
}

type scriptedPermit struct{ gate *scriptedGate }

func (p scriptedPermit) Done(r resilience.Result) { p.gate.done = append(p.gate.done, r) }

// A course is one lead on its way along a chain.
type course struct {
	lead      lead.Lead
	chain     *chain.Chain
	gate      *scriptedGate
	progress  *chain.Progress
	trail     []lead.TrailEntry
	armed     []time.Duration // the deadlines that the fallback was armed for, from the start
	armFails  int             // so many times
	onPanic   func(string, *resilience.PanicError)
	roundTrip bool // the progress goes through its stored form after each walk
	verdicts  []chain.Verdict
	began     time.Time
}

var someLead = lead.Lead{Email: "ann@example.com"}

// newCourse puts a lead before a chain that wants two fields the lead lacks.
func newCourse(ps ...*scripted) *course {
	c := &course{lead: someLead, began: time.Now(), gate: &scriptedGate{refusals: map[string][]refusal{}, waits: map[string]time.Duration{}}}
	c.chain = &chain.Chain{
		Gate: c.gate, Want: []lead.Field{lead.PersonName, lead.CompanyName},
		Retry: resilience.DefaultRetry, Pending: chain.DefaultPending, Now: time.Now,
	}
	for _, p := range ps {
		c.chain.Providers = append(c.chain.Providers, p)
	}
	c.progress = chain.NewProgress(someLead, 1, time.Now())
	return c
}

func (c *course) hooks() chain.Hooks {
	return chain.Hooks{
		Panic: c.onPanic,
		Trail: func(e lead.TrailEntry) { c.trail = append(c.trail, e) },
		Arm: func(_ context.Context, deadline time.Time) bool {
			c.armed = append(c.armed, deadline.Sub(c.began))
			return len(c.armed) > c.armFails
		},
	}
}

// walk makes one walk and stores its progress.
func (c *course) walk(t testing.TB) chain.Verdict {
	t.Helper()
	v, err := c.chain.Walk(t.Context(), c.lead, c.progress, c.hooks())
	if err != nil {
		t.Fatalf("Walk: %v", err)
	}
	c.verdicts = append(c.verdicts, v)
	if c.roundTrip {
		b, err := c.progress.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if c.progress, err = chain.LoadProgress(b, c.lead, 1, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// run walks whenever it is due, as the queue would, until the chain has ended.
func (c *course) run(t testing.TB) chain.Verdict {
	t.Helper()
	for range 500 {
		v := c.walk(t)
		if v.Kind != chain.KindRetry && v.Kind != chain.KindSnooze {
			return v
		}
		if v.At.Before(time.Now()) || v.Why == "" {
			t.Fatalf("verdict %+v at %s: not in the past, and it says why", v, time.Now())
		}
		time.Sleep(time.Until(v.At))
	}
	t.Fatal("the chain does not end")
	return chain.Verdict{}
}

// starts are the seconds at which the provider's calls began.
func (c *course) starts(p *scripted) []float64 {
	out := []float64{}
	for _, m := range p.made {
		out = append(out, m.began.Sub(c.began).Round(10*time.Millisecond).Seconds())
	}
	return out
}

// kinds are what the walks ended with.
func (c *course) kinds() []chain.Kind {
	var out []chain.Kind
	for _, v := range c.verdicts {
		out = append(out, v.Kind)
	}
	return out
}
