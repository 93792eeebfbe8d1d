package resilience

import (
	"context"
	"errors"
	"time"

	"backstop/lead"
	"backstop/providers"
)

// call makes one call and applies its class. goOn is false when the provider is
// to be left for the next one.
func (w *walk) call(ctx context.Context, name string, call providers.Call, asked *Asked) (v *Verdict, goOn bool, err error) {
	if asked.Failed && w.progress.Retries >= w.Retry.Max {
		asked.Over = lead.ClassTransient // others used up the retries while it was refused
		return nil, false, nil
	}
	timeout := func() (time.Duration, bool) { return w.timeout(name) }
	if _, ok := timeout(); !ok {
		w.noTime(name, asked)
		return nil, false, nil
	}
	within, cancel := w.withinBudget(ctx)
	defer cancel()
	r, err := w.ask(within, name, call, asked, timeout)
	if p, ok := err.(*PanicError); ok { // beside an answer
		if w.OnPanic != nil {
			w.OnPanic(name, p)
		}
		err = nil
	}
	if err != nil {
		late := within.Err() != nil && ctx.Err() == nil
		v, err := w.notMade(name, err, late, asked)
		return v, false, err
	}
	w.countRetry(name, r, asked)
	if r.spent > 0 && r.Class == lead.ClassPending { // also for what is got with a ticket
		asked.Billed = append(asked.Billed, call.Endpoint)
	}
	e := lead.TrailEntry{
		Class: r.Class, Status: r.Status, Detail: r.Detail, Credits: r.spent,
		At: lead.At(r.began), Millis: w.Now().Sub(r.began).Milliseconds(),
	}
	if r.Class.HasData() {
		w.found(r.Answer)
	}
	ended := w.mayGoOn(ctx)
	if ended == nil || ended.Kind != KindSuppress {
		e.Conflicts = w.merge(name, r.Answer)
	}
	w.note(name, e)
	if ended != nil && ended.Kind == KindSuppress {
		return ended, false, nil
	}
	if v, goOn, err = w.apply(ctx, name, call, r.Answer, r.began, asked); v == nil && err == nil && ended != nil {
		return ended, false, nil
	}
	return v, goOn, err
}

// notMade is the consequence of a call that was not made, or that left no trace.
// late says that the budget ended meanwhile.
func (w *walk) notMade(name string, err error, late bool, asked *Asked) (*Verdict, error) {
	switch e := err.(type) {
	case *Refusal:
		return w.refused(e, asked), nil
	case *CapReached:
		w.note(name, lead.TrailEntry{Class: lead.ClassSkip, Detail: e.detail(), At: lead.At(w.Now())})
		return nil, nil
	}
	if late || errors.Is(err, errNoTime) {
		w.noTime(name, asked)
		return nil, nil
	}
	return nil, err
}

// countRetry uses up a retry, if this call was one that was really made.
func (w *walk) countRetry(name string, r reply, asked *Asked) {
	if asked.Failed {
		asked.Failed = false
		if !r.kept {
			w.progress.Retries++
		}
	}
	if w.progress.RetryOf == name {
		w.progress.RetryOf = ""
	}
}

// noTime leaves a provider that the budget has no room for.
func (w *walk) noTime(name string, asked *Asked) {
	w.note(name, lead.TrailEntry{Class: lead.ClassSkip, Detail: errNoTime.Error(), At: lead.At(w.Now())})
	asked.Over = lead.ClassSkip
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
