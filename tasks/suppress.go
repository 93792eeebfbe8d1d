package tasks

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"backstop/chain"
	"backstop/lead"
	"backstop/ledger"
	"backstop/queue"
)

// suppress settles a lead whose person asked not to be processed, without a trace
// of what was gathered.
func (h *handlers) suppress(ctx context.Context, j *job, trail []lead.TrailEntry) error {
	why := ledger.ReasonSuppressed
	if slices.ContainsFunc(trail, func(e lead.TrailEntry) bool { return e.Class == lead.ClassForbidden }) {
		why = "the person asked a provider not to be processed"
	}
	return h.settle(ctx, j, ledger.Settlement{
		Status: lead.StatusSuppressed, Reason: why, Missing: []lead.Field{}, Trail: trail,
	})
}

// removeTraces removes what Redis has of a person whose lead was suppressed: the tasks
// of the lead's and of the person's other leads' runs, whose payloads name them, and
// the kept answers. The ledger has done its part with the outcome. Other leads
// that are open get a task without a name in it.
//
// If it cannot, the task comes back, finds the lead suppressed, and tries again: it
// is what remembers that something is left, also for a worker that dies here.
func (h *handlers) removeTraces(ctx context.Context, rec ledger.Record, l lead.Lead, others []ledger.Record, log zerolog.Logger) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracesTimeout)
	defer cancel()
	err := h.remove(ctx, rec, l, others)
	switch {
	case errors.Is(err, chain.ErrOtherSecret): // to try again finds no more
		log.Warn().Err(err).Str("event", "suppressed").Msg("not all kept answers about a person who asked not to be processed could be found")
		return nil
	case err != nil:
		log.Warn().Err(err).Str("event", "suppressed").
			Msg("not all that Redis has of a person who asked not to be processed could be removed yet; trying again")
		return h.snoozed(lookAgain, "traces of a suppressed person are left")
	}
	return nil
}

// removeTracesAgain is removeTraces for a lead that was settled by a run that may not have come
// so far.
func (h *handlers) removeTracesAgain(ctx context.Context, rec ledger.Record, l lead.Lead, log zerolog.Logger) error {
	refs, err := h.Ledger.SamePerson(ctx, rec.LeadID)
	var others []ledger.Record
	if err == nil {
		ids := make([]string, len(refs))
		for i, r := range refs {
			ids[i] = r.LeadID
		}
		others, err = h.Ledger.Records(ctx, ids)
	}
	if err != nil {
		log.Warn().Err(err).Str("event", "ledger").Msg("the ledger cannot be read; the lead is put back")
		return h.snoozed(lookAgain, "the ledger cannot be read")
	}
	return h.removeTraces(ctx, rec, l, others, log)
}

// tracesTimeout bounds the way to Redis and back for some tasks.
const tracesTimeout = 10 * time.Second

func (h *handlers) remove(ctx context.Context, rec ledger.Record, l lead.Lead, others []ledger.Record) error {
	if err := h.Queue.RemoveRuns(ctx, rec.LeadID, rec.Generation); err != nil {
		return err
	}
	subjects := chain.Subjects(l, rec.Progress, nil)
	for _, o := range others {
		if err := h.Queue.RemoveRuns(ctx, o.LeadID, o.Generation); err != nil {
			return err
		}
		if err := h.withoutName(ctx, o); err != nil {
			return err
		}
		subjects = append(subjects, chain.Subjects(o.Lead, o.Progress, nil)...)
	}
	if h.Forget == nil {
		return nil
	}
	_, err := h.Forget(ctx, subjects...)
	return err
}

// withoutName gives another lead of the person that is open a task that names
// nobody, in the place of the one that was removed.
func (h *handlers) withoutName(ctx context.Context, o ledger.Record) error {
	if !o.Live() {
		return nil
	}
	o.Lead = lead.Lead{Source: o.Lead.Source, SourceID: o.Lead.SourceID}
	_, err := h.Queue.Enrich(ctx, queue.Payload{LeadID: o.LeadID, RequestID: o.RequestID, Generation: o.Generation, Lead: o.Lead})
	return err
}
