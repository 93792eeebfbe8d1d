package chain

import (
	"context"
	"errors"
	"time"

	"backstop/lead"
	"backstop/resilience"
)

// The budget is the time from a lead's first failed call to the end of its last one
// (resilience.Retry.Budget). It does not run before a call has failed. Each provider
// that has not had its turn yet has a part of it kept back, so that one that hangs
// cannot use up the time of those behind it.

// errNoTime is the end of a call for which the budget had no time left.
var errNoTime = errors.New("no time left in the budget")

// reserved is the part of the budget that is kept back for each provider. It is also
// the shortest call worth beginning.
func (w *walk) reserved() time.Duration { return w.Retry.Budget / 20 }

// timeout is how long a call to the provider may take now. The error is errNoTime when
// the budget has no room for one.
func (t *turn) timeout() (time.Duration, error) {
	d := t.Timeouts[t.name]
	if d == 0 {
		d = resilience.DefaultTimeout
	}
	left, running := t.left()
	switch {
	case running && left < t.reserved()/2: // the last provider may use what the schedule's rounding has left
		return 0, errNoTime
	case !running && left <= 0:
		return d, nil
	}
	return min(d, left), nil
}

// left is what the budget has for this provider. Before it runs that is all of
// it, because it runs from the beginning of the call that fails.
func (t *turn) left() (left time.Duration, running bool) {
	left = t.Retry.Budget
	deadline, running := t.progress.Deadline(t.Retry)
	if running {
		left = deadline.Sub(t.Now())
	}
	return left - time.Duration(t.behind)*t.reserved(), running
}

// withinBudget ends with the provider's part of a budget that runs: no wait is longer.
func (t *turn) withinBudget(ctx context.Context) (context.Context, context.CancelFunc) {
	if left, running := t.left(); running {
		return context.WithTimeout(ctx, left)
	}
	return ctx, func() {}
}

// beyondBudget reports whether a call at the given time would leave the providers
// behind this one no time. Without a failed call there is no budget to exceed.
func (t *turn) beyondBudget(at time.Time) bool {
	deadline, running := t.progress.Deadline(t.Retry)
	return running && at.Add(time.Duration(t.behind+1)*t.reserved()).After(deadline)
}

// startBudget begins the lead's budget, if it does not run yet, and arms the
// fallback, which ends it whatever else happens.
func (w *walk) startBudget(ctx context.Context, at time.Time) {
	p := w.progress
	if p.FailedAt.IsZero() {
		p.FailedAt = lead.At(at)
	}
	if !p.Armed && w.hooks.Arm != nil {
		p.Armed = w.hooks.Arm(ctx, p.FailedAt.Add(w.Retry.Budget))
	}
}
