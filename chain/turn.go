package chain

import (
	"context"
	"errors"

	"backstop/lead"
	"backstop/resilience"
)

// take makes the provider's calls until nothing more is to be had of it (nil), or
// until the walk has to stop (a verdict).
func (t *turn) take(ctx context.Context) (*Verdict, error) {
	for t.asked.Over == "" {
		call, ok := t.next()
		if !ok {
			return nil, nil
		}
		if t.asked.Failed && t.progress.Retries >= t.Retry.Max {
			t.asked.Over = lead.ClassTransient // others used up the retries while it was refused
			return nil, nil
		}
		r, err := t.ask(ctx, call)
		if err != nil {
			return t.notMade(err)
		}
		if v, more, err := t.apply(ctx, call, r); err != nil || !more {
			return v, err
		}
	}
	return nil, nil
}

// notMade is the consequence of a call that was not made, or that left no trace.
func (t *turn) notMade(err error) (*Verdict, error) {
	var refusal *resilience.Refusal
	var reached *CapReached
	switch {
	case errors.As(err, &refusal):
		return t.refused(refusal), nil
	case errors.As(err, &reached) && reached.Unknown && !t.NoWait && !t.beyondBudget(reached.Until):
		return t.later(KindSnooze, reached.Until, reached.detail()), nil
	case errors.As(err, &reached):
		t.skip(t.name, reached.detail())
		return nil, nil
	case errors.Is(err, errNoTime):
		t.skip(t.name, errNoTime.Error())
		t.asked.Over = lead.ClassSkip
		return nil, nil
	}
	return nil, err
}
