package tasks

import (
	"context"
	"errors"
	"fmt"

	"github.com/hibiken/asynq"

	"backstop/chain"
	"backstop/lead"
	"backstop/ledger"
)

// fallback is the handler of lead:fallback: the end of every lead that the chain
// did not fill. It asks the fallback providers, adds what the source itself knows,
// and settles in any case.
//
//	armed by the first failed call ──(budget over)──┐
//	chain ended without a full profile ──(at once)──┴─> walk ──────────────> settled: partial or enriched
//	                                                    │  each provider in turn; one that
//	                                                    │  cannot answer now is passed over
//	                                                    ├─ the person opted out ──> settled: suppressed
//	                                                    └─ interrupted, or nothing can say whether they did:
//	                                                       what was asked is saved, and the task comes back
//
// It never waits for a provider: it is the lead's hard time-out.
func (h *handlers) fallback(ctx context.Context, t *asynq.Task) error {
	j, err := h.open(ctx, t)
	if j == nil || err != nil {
		return err
	}
	if j.record.Suppressed {
		return h.suppress(ctx, j, nil)
	}
	known, err := h.Ledger.Outcome(ctx, j.record.LeadID)
	if err != nil && !errors.As(err, new(*ledger.DamagedError)) { // of a damaged one what can be read is enough
		return h.snoozed(lookAgain, "the ledger cannot be read")
	}
	begin := lead.TrailEntry{
		Attempt: max(j.progress.Attempt, 1), Provider: "fallback", Class: lead.ClassFallback,
		Detail: fallbackWhy(j.progress), At: lead.At(h.Now()),
	}
	h.logTrail(j, begin)

	// A progress of its own: the fallback has neither retries nor the used-up budget.
	p := &chain.Progress{
		Generation: j.record.Generation, StartedAt: j.progress.StartedAt,
		Attempt: begin.Attempt - 1, Heard: j.progress.Heard, Facts: j.progress.Facts.Clone(), Found: j.progress.Found,
	}
	v, err := h.Fallback.Walk(ctx, j.record.Lead, p, h.fallbackHooks(j))
	j.progress.Found = p.Found
	trail := append([]lead.TrailEntry{begin}, v.Trail...)
	if err != nil || v.Kind == chain.KindSnooze {
		return h.unfinished(ctx, j, v, trail, err)
	}
	if v.Kind == chain.KindSuppress {
		return h.suppress(ctx, j, trail)
	}
	p.Facts.Infer(j.record.Lead)
	s := ledger.Settlement{
		Status: lead.StatusPartial, Facts: p.Facts, Missing: p.Facts.Profile.Missing(h.Fallback.Want),
		Fallback: true, Trail: trail, Reason: exhaustion(j.progress, known.Trail),
	}
	if len(s.Missing) == 0 && p.Heard {
		s.Status = lead.StatusEnriched
	}
	return h.settle(ctx, j, s)
}

// unfinished puts back a fallback that did not come to the end of its walk. What was
// asked may have been paid for, and is saved.
func (h *handlers) unfinished(ctx context.Context, j *job, v chain.Verdict, trail []lead.TrailEntry, err error) error {
	if len(v.Trail) > 0 {
		if err := h.saveTrail(ctx, j, trail); err != nil {
			return err
		}
	}
	if err != nil {
		return h.interrupted(err)
	}
	return &SnoozeError{Until: v.At, Reason: v.Why}
}

// exhaustion says in one line why a lead did not get a full profile from the
// chain. It is the reason of a partial outcome and the error of an archived task.
func exhaustion(p *chain.Progress, trail []lead.TrailEntry) string {
	var calls []lead.TrailEntry
	for _, e := range trail {
		if e.Class != lead.ClassFallback {
			calls = append(calls, e)
		}
	}
	what := lead.Summary(calls)
	if what == "" {
		what = "no call was made"
	}
	switch {
	case p.Ended == chain.KindNegative:
		return "no provider knows more: " + what
	case p.Ended == chain.KindExhausted && p.Retries > 0:
		return fmt.Sprintf("exhausted after %d retries: %s", p.Retries, what)
	case p.Ended == chain.KindExhausted:
		return "exhausted: " + what
	default:
		return "out of time: " + what
	}
}

// fallbackWhy says why the fallback runs.
func fallbackWhy(p *chain.Progress) string {
	switch p.Ended {
	case chain.KindNegative:
		return "no provider knows more"
	case chain.KindExhausted:
		return "the chain is exhausted"
	default:
		return "the budget is used up"
	}
}
