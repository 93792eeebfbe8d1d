package chain

import (
	"context"
	"fmt"
	"time"

	"backstop/lead"
	"backstop/providers"
	"backstop/resilience"
)

// maxRateLimited is how often one lead lets a provider say "too fast" before it
// goes on without it. The gate keeps the fleet below the limit, so that more
// than this means a limit that is not what the configuration says.
const maxRateLimited = 5

// apply takes an answer into the lead's progress and draws its consequence: a verdict
// when the walk has to stop, else whether the same provider has more to give. What the
// answer means for the provider's circuit is the gate's business.
func (t *turn) apply(ctx context.Context, call providers.Call, r reply) (v *Verdict, more bool, err error) {
	t.countRetry(r)
	if r.spent > 0 && r.Class == lead.ClassPending { // also for what is got with a ticket
		t.asked.Billed = append(t.asked.Billed, call.Endpoint)
	}
	e := lead.TrailEntry{
		Class: r.Class, Status: r.Status, Detail: r.Detail, Credits: r.spent,
		At: lead.At(r.began), Millis: t.Now().Sub(r.began).Milliseconds(),
	}
	if r.Class.HasData() {
		t.found(r.Answer)
	}
	stop := t.optedOut(ctx)
	if stop != nil && stop.Kind == KindSuppress {
		t.note(t.name, e)
		return stop, false, nil
	}
	e.Conflicts = t.merge(r.Answer)
	t.note(t.name, e)
	if v, more, err = t.follow(ctx, call, r); v == nil && err == nil && stop != nil {
		return stop, false, nil
	}
	return v, more, err
}

// follow is what the answer's class means for the lead.
func (t *turn) follow(ctx context.Context, call providers.Call, r reply) (v *Verdict, more bool, err error) {
	switch r.Class {
	case lead.ClassOK, lead.ClassPartial, lead.ClassNoData, lead.ClassInvalidInput:
		t.asked.Answered = append(t.asked.Answered, call.Endpoint)
		delete(t.asked.Tickets, call.Endpoint)
		return nil, true, nil
	case lead.ClassForbidden:
		return t.suppress(), false, nil
	case lead.ClassPending:
		t.asked.keepTicket(call.Endpoint, r.Ticket)
		return t.pending(r.Answer), false, nil
	case lead.ClassRateLimited:
		return t.rateLimited(r.Answer), false, nil
	case lead.ClassQuotaExhausted, lead.ClassAuth, lead.ClassOurBug:
		t.asked.Over = r.Class
		return nil, false, nil
	case lead.ClassTransient:
		return t.failed(ctx, r.began), false, nil
	default:
		return nil, false, fmt.Errorf("provider %s answered with the unknown class %q", t.name, r.Class)
	}
}

// countRetry uses up a retry, if this call was one that was really made.
func (t *turn) countRetry(r reply) {
	if t.asked.Failed {
		t.asked.Failed = false
		if !r.cached {
			t.progress.Retries++
		}
	}
	if t.progress.RetryOf == t.name {
		t.progress.RetryOf = ""
	}
}

// merge takes what an answer brings into the facts, and returns the values that it
// was not worth to replace others with.
func (t *turn) merge(a providers.Answer) map[lead.Field]string {
	if !a.Class.HasData() {
		return nil
	}
	origin := lead.Origin{Provider: t.name, Confidence: a.Confidence}
	if !a.AsOf.IsZero() {
		origin.AsOf = lead.At(a.AsOf)
	}
	t.progress.Heard = true
	return t.progress.Facts.Merge(a.Profile, origin, t.Overwrite).Conflicts
}

// failed is the consequence of a transient failure: a retry of the same provider
// while retries and budget remain, else the rest of the chain at once.
func (t *turn) failed(ctx context.Context, began time.Time) *Verdict {
	p := t.progress
	t.startBudget(ctx, began)
	t.asked.Failed = true
	if !t.NoWait && p.Retries < t.Retry.Max {
		due := t.Now().Add(t.Retry.Delay(p.Retries + 1))
		if !t.beyondBudget(due) {
			p.RetryOf = t.name
			return t.later(KindRetry, due, fmt.Sprintf("retry %d, of %s", p.Retries+1, t.name))
		}
	}
	t.asked.Over = lead.ClassTransient
	return nil
}

// pending asks again later, without using up a retry, until it has taken too long.
func (t *turn) pending(a providers.Answer) *Verdict {
	now := t.Now()
	if t.asked.PendingSince.IsZero() {
		t.asked.PendingSince = lead.At(now)
	}
	t.asked.Pendings++
	due := now.Add(t.Pending.delay(t.asked.Pendings, a.Wait))
	if t.NoWait || due.After(t.asked.PendingSince.Add(t.Pending.Max)) || t.beyondBudget(due) {
		t.asked.Over = lead.ClassPending
		return nil
	}
	return t.later(KindSnooze, due, "the provider is still looking it up")
}

// rateLimited waits for the provider's pause, which the gate has learned too.
func (t *turn) rateLimited(a providers.Answer) *Verdict {
	t.asked.RateLimited++
	if t.asked.RateLimited > maxRateLimited {
		t.asked.Over = lead.ClassRateLimited
		return nil
	}
	return t.refused(&resilience.Refusal{
		Provider: t.name, Reason: resilience.ReasonPaused, RetryAt: t.Now().Add(max(a.Wait, time.Second)),
	})
}

// refused is the consequence of a gate that let no call pass: a short wait puts
// the lead back, everything else sends it to the next provider.
func (t *turn) refused(r *resilience.Refusal) *Verdict {
	if !t.NoWait && r.MustWait() && !t.beyondBudget(r.RetryAt) &&
		(r.Reason == resilience.ReasonRate || r.RetryAt.Sub(t.Now()) <= t.Retry.Budget) {
		v := t.later(KindSnooze, r.RetryAt, fmt.Sprintf("%s: %s", r.Provider, r.Reason))
		v.Crowded = r.Reason == resilience.ReasonRate
		return v
	}
	detail := string(r.Reason)
	if !r.RetryAt.IsZero() {
		detail += " until " + lead.At(r.RetryAt).String()
		if t.reopens.IsZero() || r.RetryAt.Before(t.reopens) {
			t.reopens = r.RetryAt
		}
	}
	t.skip(r.Provider, detail)
	return nil
}
