package resilience

import (
	"context"
	"errors"
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
	// asked not to be processed. It may be nil. An error is as good as no.
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
	counted bool      // the attempt has been counted
	reopens time.Time // the earliest time at which a refusing gate lets a probe pass
}

// full reports whether the profile is full and a provider was heard: what the
// source knew by itself makes no enriched lead.
func (w *walk) full() bool {
	return w.progress.Heard && len(w.progress.Facts.Open(w.Want)) == 0
}

// provider makes the calls of one provider until nothing more is to be had of it
// (nil), or until the walk has to stop (a verdict).
func (w *walk) provider(ctx context.Context, prov providers.Provider) (*Verdict, error) {
	asked := w.progress.asked(prov.Name())
	for asked.Over == "" {
		call, why, ok := w.next(prov, asked)
		if !ok {
			if why != "" {
				w.note(prov.Name(), lead.TrailEntry{Class: lead.ClassInvalidInput, Detail: why, At: lead.At(w.Now())})
				asked.Over = lead.ClassInvalidInput
			}
			return nil, nil
		}
		v, goOn, err := w.call(ctx, prov.Name(), call, asked)
		if err != nil || v != nil || !goOn {
			return v, err
		}
	}
	return nil, nil
}

// next is the first planned call that has no answer yet. why is set when the
// provider cannot be asked about this lead at all.
func (w *walk) next(prov providers.Provider, asked *Asked) (call providers.Call, why string, ok bool) {
	if w.full() {
		return providers.Call{}, "", false
	}
	open := w.progress.Facts.Open(w.Want)
	if len(open) == 0 {
		open = w.Want // full by what the source said, which somebody should confirm
	}
	known := w.progress.Facts.Known(w.lead)
	missing, why := w.Rules[prov.Name()].passes(known, open)
	if why == "" {
		var calls []providers.Call
		calls, why = prov.Plan(known, missing)
		for _, c := range calls {
			if !contains(asked.Answered, c.Endpoint) {
				return c, "", true
			}
		}
		if len(calls) > 0 {
			why = ""
		}
	}
	if len(asked.Answered) > 0 {
		why = ""
	}
	return providers.Call{}, why, false
}

// call makes one call and applies its class. goOn is false when the provider is
// to be left for the next one.
func (w *walk) call(ctx context.Context, name string, call providers.Call, asked *Asked) (v *Verdict, goOn bool, err error) {
	if asked.Failed && w.progress.Retries >= w.Retry.Max {
		asked.Over = lead.ClassTransient // others used up the retries while it was refused
		return nil, false, nil
	}
	timeout := func() (time.Duration, bool) { return w.timeout(name) }
	if _, ok := timeout(); !ok {
		return w.noTime(name, asked), false, nil
	}
	within, cancel := w.withinBudget(ctx)
	defer cancel()
	r, err := w.ask(within, name, call, asked, timeout)
	switch e := err.(type) {
	case nil:
	case *Refusal:
		return w.refused(e, asked), false, nil
	case *CapReached:
		w.note(name, lead.TrailEntry{Class: lead.ClassSkip, Detail: e.detail(), At: lead.At(w.Now())})
		return nil, false, nil
	case *PanicError:
		if w.OnPanic != nil {
			w.OnPanic(name, e)
		}
	default:
		if errors.Is(err, errNoTime) || within.Err() != nil && ctx.Err() == nil {
			return w.noTime(name, asked), false, nil
		}
		return nil, false, err
	}
	if asked.Failed {
		asked.Failed = false
		if !r.kept {
			w.progress.Retries++
		}
	}
	if w.progress.RetryOf == name {
		w.progress.RetryOf = ""
	}
	if r.spent > 0 {
		asked.Billed = append(asked.Billed, call.Endpoint)
	}
	w.note(name, lead.TrailEntry{
		Class: r.Class, Status: r.Status, Detail: r.Detail, Credits: r.spent, Conflicts: w.merge(name, r.Answer),
		At: lead.At(r.began), Millis: w.Now().Sub(r.began).Milliseconds(),
	})
	return w.apply(ctx, name, call, r.Answer, r.began, asked)
}

// noTime leaves a provider that the budget has no room for.
func (w *walk) noTime(name string, asked *Asked) *Verdict {
	w.note(name, lead.TrailEntry{Class: lead.ClassSkip, Detail: errNoTime.Error(), At: lead.At(w.Now())})
	asked.Over = lead.ClassSkip
	return nil
}

// timeout is how long a call to the provider may take now. It is false when the
// budget has no room for one.
func (w *walk) timeout(name string) (time.Duration, bool) {
	t := w.Timeouts[name]
	if t == 0 {
		t = DefaultTimeout
	}
	left, running := w.left()
	switch {
	case running && left < w.Retry.reserve()/2:
		// The last in the chain may use what the rounding of the schedule has left.
		return 0, false
	case !running && left <= 0:
		return t, true
	}
	return min(t, left), true
}

// left is what the budget has for this provider. Before it runs that is all of
// it, because it runs from the beginning of the call that fails.
func (w *walk) left() (left time.Duration, running bool) {
	left = w.Retry.Budget
	deadline, running := w.progress.Deadline(w.Retry)
	if running {
		left = deadline.Sub(w.Now())
	}
	return left - time.Duration(w.behind)*w.Retry.reserve(), running
}

// withinBudget keeps the wait at the gate within a budget that runs.
func (w *walk) withinBudget(ctx context.Context) (context.Context, context.CancelFunc) {
	if left, running := w.left(); running {
		return context.WithTimeout(ctx, left)
	}
	return ctx, func() {}
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

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
