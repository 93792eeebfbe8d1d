package tasks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"backstop/lead"
	"backstop/ledger"
	"backstop/resilience"
)

// enrich is the handler of lead:enrich: it walks the chain as far as it comes now
// and settles, puts the task back, or hands the lead to the fallback.
func (h *handlers) enrich(ctx context.Context, t *asynq.Task) error {
	j, err := h.open(ctx, t)
	if j == nil || err != nil {
		return err
	}
	if j.record.Suppressed {
		return h.suppress(ctx, j, resilience.Verdict{})
	}
	if j.progress.Ended != "" {
		return h.handOver(ctx, j) // an earlier run got so far and its acknowledgement was lost
	}
	if err := h.untilDue(ctx, j); err != nil {
		return err
	}
	if j.progress.Crashes >= suspicious {
		leave, err := h.alone()
		if err != nil {
			return err
		}
		defer leave()
	}
	v, err := h.Chain.Walk(ctx, j.record.Lead, j.progress, h.hooks(j))
	if err != nil {
		return h.cutShort(ctx, j, v, err)
	}
	switch v.Kind {
	case resilience.KindFull:
		return h.full(ctx, j, v)
	case resilience.KindSuppress:
		return h.suppress(ctx, j, v)
	case resilience.KindRetry:
		return h.retry(ctx, j, v)
	case resilience.KindSnooze:
		return h.snooze(ctx, j, v)
	default:
		if err := h.record(ctx, j, v.Trail); err != nil {
			return err
		}
		return h.handOver(ctx, j)
	}
}

// untilDue waits out the part of a second by which asynq brings tasks back early.
// A task that is earlier than that, because somebody ran it by hand, is put back:
// the provider was promised the time.
func (h *handlers) untilDue(ctx context.Context, j *job) error {
	if j.progress.Due.IsZero() {
		return nil
	}
	left := j.progress.Due.Sub(h.Now())
	if left <= 0 {
		return nil
	}
	if left > time.Second {
		return &Later{At: j.progress.Due.Time, Why: "not due yet"}
	}
	if rest(ctx, left) != nil {
		return h.interrupted(ctx.Err())
	}
	return nil
}

// cutShort ends a walk that was interrupted in the middle of a call. What was
// answered before it has been paid for and is kept.
func (h *handlers) cutShort(ctx context.Context, j *job, v resilience.Verdict, err error) error {
	if len(v.Trail) > 0 {
		if rerr := h.record(ctx, j, v.Trail); rerr != nil {
			return rerr
		}
	}
	return h.interrupted(err)
}

// interrupted puts a task back whose run was cut short, to go on where it was.
func (h *handlers) interrupted(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Later{At: h.Now(), Why: "interrupted"}
	}
	return err
}

func (h *handlers) full(ctx context.Context, j *job, v resilience.Verdict) error {
	err := h.settle(ctx, j, ledger.Settlement{
		Status: lead.StatusEnriched, Facts: j.progress.Facts, Missing: []lead.Field{}, Trail: v.Trail,
	})
	if err != nil {
		return err
	}
	h.dropFallback(j)
	return nil
}

func (h *handlers) dropFallback(j *job) {
	if !j.progress.Armed {
		return
	}
	if err := h.Queue.DropFallback(j.record.LeadID, j.record.Generation); err != nil {
		j.log.Debug().Err(err).Str("event", "drop").Msg("the fallback stays scheduled and will find nothing to do")
	}
}

func (h *handlers) retry(ctx context.Context, j *job, v resilience.Verdict) error {
	if err := h.record(ctx, j, v.Trail); err != nil {
		return err
	}
	h.Observer.Retry(j.progress.RetryOf)
	j.log.Info().Str("event", "retry").Str("provider", j.progress.RetryOf).
		Int("retry", j.progress.Retries+1).Time("at", v.At).Send()
	return &Later{At: v.At, Failure: true, Why: lead.Summary(v.Trail) + "; " + v.Why}
}

// snooze puts the lead back. The ledger is written only when something happened:
// a lead that merely waits for a slot may do so many times.
func (h *handlers) snooze(ctx context.Context, j *job, v resilience.Verdict) error {
	if len(v.Trail) > 0 {
		if err := h.record(ctx, j, v.Trail); err != nil {
			return err
		}
	}
	h.Observer.Snooze()
	j.log.Debug().Str("event", "snooze").Time("at", v.At).Str("why", v.Why).Send()
	if v.Crowded {
		_ = rest(ctx, crowdedHold) // cut short or not, the lead is put back
	}
	return &Later{At: v.At, Why: v.Why}
}

// crowdedHold is how long a slot is held for a lead that found no place under the
// rate limit. It bounds how fast a backlog goes round: without it, a worker would
// move a whole import from the queue to the retry set and back, again and again,
// for the few leads a second that may pass.
const crowdedHold = time.Second

// handOver gives a lead whose chain ended without a full profile to the fallback,
// at once. Where something failed, the task then goes to the archive, the
// dead-letter queue, with the whole trail as its error; where every provider gave
// its valid negative answer nothing failed, and the task is done.
func (h *handlers) handOver(ctx context.Context, j *job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := h.Queue.RunFallback(ctx, j.payload); err != nil {
		j.log.Warn().Err(err).Str("event", "fallback").Msg("the fallback could not be started; trying again")
		return &Later{At: h.Now().Add(2 * time.Second), Why: "the fallback could not be started"}
	}
	if j.progress.Ended == resilience.KindNegative {
		return nil
	}
	why := "exhausted"
	if o, err := h.Ledger.Outcome(ctx, j.record.LeadID); err == nil {
		why = exhaustion(j.progress, o.Trail)
	} else {
		j.log.Warn().Err(err).Str("event", "ledger").Msg("the trail could not be read for the archive")
	}
	return fmt.Errorf("%s: %w", why, asynq.SkipRetry)
}
