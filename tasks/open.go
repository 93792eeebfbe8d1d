package tasks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/rs/zerolog"

	"backstop/chain"
	"backstop/lead"
	"backstop/ledger"
	"backstop/queue"
)

// How long a handler holds a lead whose ledger is away before it puts the task
// back. Held leads fill the worker's slots, so that it takes no more of them;
// asynq keeps their leases alive meanwhile. Both fit into a task's time-out.
const (
	readTimeout  = 45 * time.Second
	writeTimeout = 45 * time.Second
)

// lookAgain is when a task comes back that could not be worked on for a reason that is
// none of the lead's.
const lookAgain = 2 * time.Second

// open reads the task and the ledger. A nil job without an error means that there
// is nothing to do.
func (h *handlers) open(ctx context.Context, t *asynq.Task) (*job, error) {
	p, err := queue.DecodePayload(t.Payload())
	if err != nil {
		h.Log.Error().Str("event", "undecodable").Str("type", t.Type()).Msg("a task's payload cannot be read; it is archived")
		return nil, fmt.Errorf("%w: %w", err, asynq.SkipRetry)
	}
	log := h.Log.With().Str("request_id", p.RequestID).Str("lead_id", p.LeadID).Logger()
	rec, err := h.read(ctx, p.LeadID, log)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		// Erased meanwhile, or the task of another ledger: nothing is owed to it.
		log.Warn().Str("event", "unknown").Msg("the ledger does not know this lead; its task is dropped")
		return nil, nil
	case err != nil && rec.Damaged == nil:
		return nil, err
	case !rec.Live() || rec.Generation != p.Generation:
		return nil, h.settledAlready(ctx, t, rec, p, log)
	case rec.Damaged != nil:
		log.Error().Err(rec.Damaged).Str("event", "damaged").Msg("this lead cannot be read; it is settled as it is")
	}
	progress, err := chain.Resume(rec.Progress, rec.Lead, rec.Generation, h.Now())
	if err != nil {
		log.Error().Err(err).Str("event", "progress").Msg("what was done for this lead cannot be read; it goes to the fallback")
	}
	progress.QueuedAt = rec.EnqueuedAt
	j := &job{payload: p, record: rec, progress: progress, log: log}
	if rec.Damaged != nil && !rec.Suppressed {
		return nil, h.settleDamaged(ctx, j)
	}
	return j, nil
}

// settleDamaged settles a lead that cannot be read with what is known of it: there is
// nobody to ask about.
func (h *handlers) settleDamaged(ctx context.Context, j *job) error {
	facts := j.progress.Facts
	return h.settle(ctx, j, ledger.Settlement{
		Status: lead.StatusPartial, Facts: facts, Missing: facts.Profile.Missing(h.Fallback.Want),
		Fallback: true, Reason: "the stored lead cannot be read",
	})
}

// read reads a lead, and waits while the ledger is away. A damaged one comes beside its
// error.
func (h *handlers) read(ctx context.Context, leadID string, log zerolog.Logger) (rec ledger.Record, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err = ledger.WhileAway(ctx, func(ctx context.Context) (err error) {
		rec, err = h.Ledger.Get(ctx, leadID)
		return err
	})
	if err == nil || errors.Is(err, ledger.ErrNotFound) || rec.Damaged != nil {
		return rec, err
	}
	log.Warn().Err(err).Str("event", "ledger").Msg("the ledger cannot be read; the lead is put back")
	return rec, h.snoozed(lookAgain, "the ledger cannot be read")
}

// settledAlready is a task of a lead that has its outcome: the acknowledgement of
// an earlier run was lost, or an operator runs an archived task once more.
func (h *handlers) settledAlready(ctx context.Context, t *asynq.Task, rec ledger.Record, p queue.Payload, log zerolog.Logger) error {
	if t.Type() == queue.TypeEnrich {
		replayed, err := h.replayByHand(ctx, rec, p)
		if err != nil {
			log.Warn().Err(err).Str("event", "replay").Msg("the lead could not be replayed; trying again")
			return h.snoozed(lookAgain, replayUnstarted)
		}
		if replayed {
			return nil
		}
	}
	if rec.Status == lead.StatusSuppressed {
		return h.removeTracesAgain(ctx, rec, p.Lead, log)
	}
	log.Debug().Str("event", "settled_already").Msg("nothing to do")
	return nil
}
