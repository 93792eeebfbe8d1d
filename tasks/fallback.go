package tasks

import (
	"context"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"backstop/lead"
	"backstop/ledger"
	"backstop/resilience"
)

// fallback is the handler of lead:fallback: the end of every lead that the chain
// did not fill. It asks the fallback providers, adds what the source itself knows,
// and settles in any case.
func (h *handlers) fallback(ctx context.Context, t *asynq.Task) error {
	j, err := h.open(ctx, t)
	if j == nil || err != nil {
		return err
	}
	if j.record.Suppressed {
		return h.suppress(ctx, j, resilience.Verdict{})
	}
	known, err := h.Ledger.Outcome(ctx, j.record.LeadID)
	if err != nil {
		return &Later{At: h.Now().Add(2 * time.Second), Why: "the ledger cannot be read"}
	}
	begin := lead.TrailEntry{
		Attempt: max(j.progress.Attempt, 1), Provider: "fallback", Class: lead.ClassFallback,
		Detail: fallbackWhy(j.progress), At: lead.At(h.Now()),
	}
	h.trail(j, begin)

	// A progress of its own: the fallback has neither retries nor the used-up budget.
	p := &resilience.Progress{
		Generation: j.record.Generation, StartedAt: j.progress.StartedAt,
		Attempt: begin.Attempt - 1, Heard: j.progress.Heard, Facts: j.progress.Facts.Clone(), Found: j.progress.Found,
	}
	v, err := h.Fallback.Walk(ctx, j.record.Lead, p, resilience.Hooks{Trail: func(e lead.TrailEntry) { h.trail(j, e) }})
	if err != nil {
		return h.interrupted(err)
	}
	j.progress.Found = p.Found
	trail := append([]lead.TrailEntry{begin}, v.Trail...)
	if v.Kind == resilience.KindSuppress {
		return h.suppress(ctx, j, resilience.Verdict{Trail: trail})
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

// exhaustion says in one line why a lead did not get a full profile from the
// chain. It is the reason of a partial outcome and the error of an archived task.
func exhaustion(p *resilience.Progress, trail []lead.TrailEntry) string {
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
	case p.Ended == resilience.KindNegative:
		return "no provider knows more: " + what
	case p.Ended == resilience.KindExhausted && p.Retries > 0:
		return fmt.Sprintf("exhausted after %d retries: %s", p.Retries, what)
	case p.Ended == resilience.KindExhausted:
		return "exhausted: " + what
	default:
		return "out of time: " + what
	}
}

// fallbackWhy says why the fallback runs.
func fallbackWhy(p *resilience.Progress) string {
	switch p.Ended {
	case resilience.KindNegative:
		return "no provider knows more"
	case resilience.KindExhausted:
		return "the chain is exhausted"
	default:
		return "the budget is used up"
	}
}
