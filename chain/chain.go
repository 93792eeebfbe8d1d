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
