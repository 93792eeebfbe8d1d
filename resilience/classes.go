package resilience

import (
	"context"
	"fmt"
	"time"

	"backstop/lead"
	"backstop/providers"
)

// apply draws the consequence of an answer's class for the lead. What it means
// for the provider's circuit is the gate's business.
func (w *walk) apply(ctx context.Context, name string, call providers.Call, a providers.Answer, began time.Time, asked *Asked) (v *Verdict, goOn bool, err error) {
	switch a.Class {
	case lead.ClassOK, lead.ClassPartial, lead.ClassNoData, lead.ClassInvalidInput:
		asked.Answered = append(asked.Answered, call.Endpoint)
		delete(asked.Tickets, call.Endpoint)
		return nil, true, nil
	case lead.ClassForbidden:
		return w.suppress(), false, nil
	case lead.ClassPending:
		if a.Ticket != "" {
			if asked.Tickets == nil {
				asked.Tickets = map[string]string{}
			}
			asked.Tickets[call.Endpoint] = a.Ticket
		}
		return w.pending(a, asked), false, nil
	case lead.ClassRateLimited:
		return w.rateLimited(name, a, asked), false, nil
	case lead.ClassQuotaExhausted, lead.ClassAuth, lead.ClassOurBug:
		asked.Over = a.Class
		return nil, false, nil
	case lead.ClassTransient:
		return w.failed(ctx, name, began, asked), false, nil
	default:
		return nil, false, fmt.Errorf("provider %s answered with the unknown class %q", name, a.Class)
	}
}

// merge takes what an answer brings into the facts, and returns the values that it
// was not worth to replace others with.
func (w *walk) merge(name string, a providers.Answer) map[lead.Field]string {
	if !a.Class.HasData() {
		return nil
	}
	origin := lead.Origin{Provider: name, Confidence: a.Confidence}
	if !a.AsOf.IsZero() {
		origin.AsOf = lead.At(a.AsOf)
	}
	w.progress.Heard = true
	return w.progress.Facts.Merge(a.Profile, origin, w.Overwrite).Conflicts
}

// failed is the consequence of a transient failure: a retry of the same provider
// while retries and budget remain, else the rest of the chain at once.
func (w *walk) failed(ctx context.Context, name string, began time.Time, asked *Asked) *Verdict {
	p := w.progress
	w.startBudget(ctx, began)
	asked.Failed = true
	deadline, _ := p.Deadline(w.Retry)
	if p.Retries < w.Retry.Max {
		due := w.Now().Add(w.Retry.Delay(p.Retries + 1))
		if !due.Add(time.Duration(w.behind+1) * w.Retry.reserve()).After(deadline) {
			p.RetryOf = name
			p.Due = lead.At(due.Add(time.Millisecond - 1)) // never early by the cut to milliseconds
			return &Verdict{Kind: KindRetry, At: p.Due.Time, Why: fmt.Sprintf("retry %d, of %s", p.Retries+1, name)}
		}
	}
	asked.Over = lead.ClassTransient
	return nil
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

// pending asks again later, without using up a retry, until it has taken too long.
func (w *walk) pending(a providers.Answer, asked *Asked) *Verdict {
	now := w.Now()
	if asked.PendingSince.IsZero() {
		asked.PendingSince = lead.At(now)
	}
	asked.Pendings++
	due := now.Add(w.Pending.delay(asked.Pendings, a.Wait))
	if due.After(asked.PendingSince.Add(w.Pending.Max)) || w.beyondBudget(due) {
		asked.Over = lead.ClassPending
		return nil
	}
	return w.snooze(due, "the provider is still looking it up")
}

// rateLimited waits for the provider's pause, which the gate has learned too.
func (w *walk) rateLimited(name string, a providers.Answer, asked *Asked) *Verdict {
	asked.RateLimited++
	if asked.RateLimited > maxRateLimited {
		asked.Over = lead.ClassRateLimited
		return nil
	}
	return w.refused(&Refusal{Provider: name, Reason: ReasonPaused, RetryAt: w.Now().Add(max(a.Wait, time.Second))}, asked)
}

// refused is the consequence of a gate that let no call pass: a short wait puts
// the lead back, everything else sends it to the next provider.
func (w *walk) refused(r *Refusal, asked *Asked) *Verdict {
	if r.MustWait() && !w.beyondBudget(r.RetryAt) &&
		(r.Reason == ReasonRate || r.RetryAt.Sub(w.Now()) <= w.Retry.Budget) {
		v := w.snooze(r.RetryAt, fmt.Sprintf("%s: %s", r.Provider, r.Reason))
		v.Crowded = r.Reason == ReasonRate
		return v
	}
	detail := string(r.Reason)
	if !r.RetryAt.IsZero() {
		detail += " until " + lead.At(r.RetryAt).String()
		if w.reopens.IsZero() || r.RetryAt.Before(w.reopens) {
			w.reopens = r.RetryAt
		}
	}
	w.note(r.Provider, lead.TrailEntry{Class: lead.ClassSkip, Detail: detail, At: lead.At(w.Now())})
	return nil
}

// beyondBudget reports whether a call at t would leave the providers behind this
// one no time. Without a failed call there is no budget to exceed.
func (w *walk) beyondBudget(t time.Time) bool {
	deadline, running := w.progress.Deadline(w.Retry)
	return running && t.Add(time.Duration(w.behind+1)*w.Retry.reserve()).After(deadline)
}

func (w *walk) snooze(at time.Time, why string) *Verdict {
	if now := w.Now(); at.Before(now) {
		at = now
	}
	w.progress.Due = lead.At(at.Add(time.Millisecond - 1))
	return &Verdict{Kind: KindSnooze, At: w.progress.Due.Time, Why: why}
}

// verdict is how the walk ended when it came to the end of the chain.
func (w *walk) verdict(ctx context.Context) *Verdict {
	if w.full() {
		return &Verdict{Kind: KindFull}
	}
	// A circuit that lets a probe pass within the budget is worth the wait.
	if !w.reopens.IsZero() {
		w.behind = 0
		start := w.progress.FailedAt.Time
		if start.IsZero() {
			start = w.Now()
		}
		if !w.reopens.Add(w.Retry.reserve()).After(start.Add(w.Retry.Budget)) {
			w.startBudget(ctx, start)
			return w.snooze(w.reopens, "every provider left is refused by its circuit")
		}
	}
	for _, prov := range w.Providers {
		if !w.heard(prov.Name()) {
			return &Verdict{Kind: KindExhausted}
		}
	}
	return &Verdict{Kind: KindNegative}
}

// heard reports whether the provider gave all the answers that it has for this
// lead, so that asking it again would buy nothing new.
func (w *walk) heard(name string) bool {
	asked := w.progress.Asked[name]
	if asked == nil {
		return false
	}
	if asked.Over != "" {
		return asked.Over.IsNegative()
	}
	for _, e := range w.trail {
		if e.Provider == name && e.Class == lead.ClassSkip {
			return false
		}
	}
	return len(asked.Answered) > 0
}

// end completes a verdict with what every one has.
func (w *walk) end(v *Verdict) Verdict {
	if v == nil {
		return Verdict{Trail: w.trail}
	}
	v.Trail = w.trail
	switch v.Kind {
	case KindFull, KindNegative, KindExhausted, KindSuppress:
		w.progress.Ended = v.Kind
	}
	return *v
}
