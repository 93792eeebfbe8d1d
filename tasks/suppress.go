package tasks

import (
	"context"
	"time"

	"backstop/lead"
	"backstop/ledger"
	"backstop/resilience"
)

// suppress settles a lead whose person asked not to be processed, without a trace
// of what was gathered.
func (h *handlers) suppress(ctx context.Context, j *job, v resilience.Verdict) error {
	why := "the person asked a provider not to be processed"
	if j.record.Suppressed {
		why = "the person asked not to be processed"
	}
	err := h.settle(ctx, j, ledger.Settlement{
		Status: lead.StatusSuppressed, Reason: why, Missing: []lead.Field{}, Trail: v.Trail,
	})
	if err != nil {
		return err
	}
	h.dropFallback(j)
	return nil
}

// traces removes what Redis has of a person whose lead was just suppressed: the
// tasks of the lead's earlier runs and of the person's other leads, whose payloads
// name them, and the kept answers. The ledger has done its part with the outcome.
// Other leads that are open get a task without a name in it from the reconciler.
func (h *handlers) traces(ctx context.Context, j *job, others []ledger.Ref) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracesTimeout)
	defer cancel()
	err := h.removeTraces(ctx, j, others)
	if err != nil {
		j.log.Error().Err(err).Str("event", "suppressed").
			Msg("not all that Redis has of a person who asked not to be processed could be removed: run enqueue forget")
	}
}

// tracesTimeout bounds the way to Redis and back for some tasks.
const tracesTimeout = 10 * time.Second

func (h *handlers) removeTraces(ctx context.Context, j *job, others []ledger.Ref) error {
	runs := append([]ledger.Ref{{LeadID: j.record.LeadID, Generation: j.record.Generation - 1}}, others...)
	for _, r := range runs {
		for g := 1; g <= r.Generation; g++ {
			if _, _, err := h.Queue.remove(ctx, r.LeadID, g); err != nil {
				return err
			}
		}
	}
	if h.ForgetAnswers == nil {
		return nil
	}
	for _, s := range resilience.Subjects(j.record.Lead, j.record.Progress) {
		if _, err := h.ForgetAnswers(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
