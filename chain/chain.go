package chain

import (
	"context"
	"time"

	"backstop/lead"
	"backstop/providers"
	"backstop/resilience"
)

// A Chain is the providers in the order in which they are asked, and the rules
// of asking them. It is safe for concurrent use.
type Chain struct {
	Providers []providers.Provider
	Gate      resilience.Gate
	Want      []lead.Field             // a profile with these is full
	Timeouts  map[string]time.Duration // by provider; missing: resilience.DefaultTimeout
	Retry     resilience.Retry
	Pending   Pending
	Now       func() time.Time

	Rules     map[string]Rule // by provider; missing: asked whenever it can tell something
	Overwrite []lead.Field    // a provider's value replaces the one that the lead came with

	// NoWait passes over a provider that cannot answer now (no slot, a pause, "still
	// being looked up"), for a chain whose end must not be put off: no verdict is then
	// a retry, and a snooze only while nothing can say whether the person opted out.
	NoWait bool

	Cache   Cache   // answers given before; nil: every call is made
	Credits Credits // caps on what is spent; nil: nothing is capped

	// IsSuppressed reports whether the person with an address that a provider found
	// opted out of processing. It may be nil. While it gives an error nobody else is
	// asked about the lead.
	IsSuppressed func(ctx context.Context, email string) (bool, error)
}

// Hooks are told what happens during a walk, as it happens. Each may be nil.
type Hooks struct {
	// Trail is called for each new entry of the trail.
	Trail func(lead.TrailEntry)
	// Arm is called by the first failed call of a lead, with the end of the budget. It
	// reports whether the fallback is scheduled now; if not, the next failed call tries
	// again.
	Arm func(ctx context.Context, deadline time.Time) bool
	// Panic is called for each panic of a provider's client, which counts as a failed call.
	Panic func(provider string, err *resilience.PanicError)
}

// Walk takes a lead along the chain as far as it comes now, and says what is
// next. It changes p, which the caller stores. The error is ctx's own: the call
// that it cut short left no trace, and what p and the verdict's trail hold of
// earlier calls may be stored.
func (c *Chain) Walk(ctx context.Context, l lead.Lead, p *Progress, h Hooks) (Verdict, error) {
	w := &walk{Chain: c, lead: l, progress: p, hooks: h}
	if v := w.optedOut(ctx); v != nil {
		return w.end(v), nil
	}
	for i, provider := range c.Providers {
		if w.full() {
			break
		}
		t := &turn{walk: w, provider: provider, name: provider.Name(), asked: p.asked(provider.Name()), behind: len(c.Providers) - i - 1}
		if v, err := t.take(ctx); err != nil || v != nil {
			return w.end(v), err
		}
	}
	return w.end(w.verdict(ctx)), nil
}

// A walk is one pass of one lead along the chain.
type walk struct {
	*Chain
	lead     lead.Lead
	progress *Progress
	hooks    Hooks

	trail   []lead.TrailEntry
	checked int       // of the addresses that were found: checked for an opt-out
	counted bool      // the attempt has been counted
	reopens time.Time // the earliest time at which a refusing gate lets a probe pass
}

// full reports whether the profile is full and a provider was heard: what the
// source knew by itself makes no enriched lead.
func (w *walk) full() bool {
	return w.progress.Heard && len(w.progress.Facts.Open(w.Want)) == 0
}

// note adds an entry to the trail. The first one of a walk makes it an attempt.
func (w *walk) note(provider string, e lead.TrailEntry) {
	if !w.counted {
		w.progress.Attempt++
		w.counted = true
	}
	e.Attempt, e.Provider = w.progress.Attempt, provider
	w.trail = append(w.trail, e)
	if w.hooks.Trail != nil {
		w.hooks.Trail(e)
	}
}

// skip notes that a provider was passed over, and why.
func (w *walk) skip(provider, why string) {
	w.note(provider, lead.TrailEntry{Class: lead.ClassSkip, Detail: why, At: lead.At(w.Now())})
}
