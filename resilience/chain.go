package resilience

import (
	"context"
	"time"

	"backstop/lead"
	"backstop/providers"
)

// A Chain is the providers in the order in which they are asked, and the rules
// of asking them. It is safe for concurrent use.
type Chain struct {
	Providers []providers.Provider
	Gate      Gate
	Want      []lead.Field             // a profile with these is full
	Timeouts  map[string]time.Duration // by provider; missing: DefaultTimeout
	Retry     Retry
	Pending   Pending
	Now       func() time.Time

	// Answers are what is known already. It may be nil.
	Answers Answers

	Rules     map[string]Rule // by provider; missing: asked whenever it can tell something
	Overwrite []lead.Field    // a provider's value replaces the one that the lead came with
	Credits   Credits         // nil: nothing is capped

	// IsSuppressed reports whether the person with an address that a provider found
	// asked not to be processed. It may be nil. While it gives an error nobody else is
	// asked about the lead.
	IsSuppressed func(ctx context.Context, email string) (bool, error)

	// OnPanic is told of every panic of a client. It may be nil.
	OnPanic func(provider string, err *PanicError)
}

// A Kind says what is to happen to a lead after a walk.
type Kind string

// The kinds of verdict.
const (
	KindFull      Kind = "full"      // every wanted field is there, and a provider was heard
	KindRetry     Kind = "retry"     // a call failed: walk again at Verdict.At; a retry is used up
	KindSnooze    Kind = "snooze"    // nothing failed: walk again at Verdict.At
	KindNegative  Kind = "negative"  // all answered, not all is known; asking again would buy the same
	KindExhausted Kind = "exhausted" // something failed for good and the profile is not full
	KindSuppress  Kind = "suppress"  // the person asked not to be processed
)

// A Verdict is the end of a walk.
type Verdict struct {
	Kind  Kind
	At    time.Time         // KindRetry, KindSnooze: not before
	Why   string            // KindRetry, KindSnooze: what the lead waits for
	Trail []lead.TrailEntry // what happened in this walk

	// Crowded: KindSnooze because there are more leads than the rate limit lets
	// pass. To take another lead at once would only put that one back, too.
	Crowded bool
}

// Hooks are told what happens during a walk, as it happens.
type Hooks struct {
	// Trail is called for each new entry of the trail.
	Trail func(lead.TrailEntry)
	// Arm is called once, by the first failed call of a lead, with the end of the
	// budget. It reports whether the fallback is scheduled now; if not, the next
	// failed call tries again.
	Arm func(ctx context.Context, deadline time.Time) bool
}

// maxRateLimited is how often one lead lets a provider say "too fast" before it
// goes on without it. The gate keeps the fleet below the limit, so that more
// than this means a limit that is not what the configuration says.
const maxRateLimited = 5

// Walk takes a lead along the chain as far as it comes now, and says what is
// next. It changes p, which the caller stores. The error is ctx's own: the call
// that it cut short left no trace, and what p and the verdict's trail hold of
// earlier calls may be stored.
func (c *Chain) Walk(ctx context.Context, l lead.Lead, p *Progress, h Hooks) (Verdict, error) {
	w := &walk{Chain: c, lead: l, progress: p, hooks: h}
	if v := w.mayGoOn(ctx); v != nil {
		return w.end(v), nil
	}
	for i, prov := range c.Providers {
		if w.full() {
			break
		}
		w.behind = len(c.Providers) - i - 1
		if v, err := w.provider(ctx, prov); err != nil || v != nil {
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

	behind  int // providers that come after the current one
	trail   []lead.TrailEntry
	looked  int       // of the addresses that were found: looked for whether they are suppressed
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
