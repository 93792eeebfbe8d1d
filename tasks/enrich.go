package tasks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"backstop/chain"
	"backstop/clock"
	"backstop/lead"
	"backstop/ledger"
	"backstop/queue"
)

// enrich is the handler of lead:enrich: it walks the chain as far as it comes now
// and settles, puts the task back, or hands the lead to the fallback.
func (h *handlers) enrich(ctx context.Context, t *asynq.Task) error {
	j, err := h.open(ctx, t)
	if j == nil || err != nil {
		return err
	}
	if j.record.Suppressed {
		return h.suppress(ctx, j, nil)
	}
	if j.progress.Ended != "" {
		return h.handOver(ctx, j) // an earlier run got so far and its acknowledgement was lost
	}
	if err := h.untilDue(ctx, j); err != nil {
		return err
	}
	if j.progress.InQuarantine() {
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
	case chain.KindFull:
		return h.full(ctx, j, v)
	case chain.KindSuppress:
		return h.suppress(ctx, j, v.Trail)
	case chain.KindRetry:
		return h.retry(ctx, j, v)
	case chain.KindSnooze:
		return h.snooze(ctx, j, v)
	default:
		if err := h.saveAttempt(ctx, j, v.Trail); err != nil {
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
		return &SnoozeError{Until: j.progress.Due.Time, Reason: "not due yet"}
	}
	if clock.Sleep(ctx, left) != nil {
		return h.interrupted(ctx.Err())
	}
	return nil
}

// cutShort ends a walk that was interrupted in the middle of a call. What was
// answered before it has been paid for and is kept.
func (h *handlers) cutShort(ctx context.Context, j *job, v chain.Verdict, err error) error {
	if len(v.Trail) > 0 {
		if rerr := h.saveAttempt(ctx, j, v.Trail); rerr != nil {
			return rerr
		}
	}
	return h.interrupted(err)
}

// interrupted puts a task back whose run was cut short, to go on where it was.
func (h *handlers) interrupted(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return h.snoozed(0, "interrupted")
	}
	return err
}

func (h *handlers) full(ctx context.Context, j *job, v chain.Verdict) error {
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
	if err := h.Queue.Drop(queue.QueueFallback, queue.FallbackID(j.record.LeadID, j.record.Generation)); err != nil {
		j.log.Debug().Err(err).Str("event", "drop").Msg("the fallback stays scheduled and will find nothing to do")
	}
}

func (h *handlers) retry(ctx context.Context, j *job, v chain.Verdict) error {
	if err := h.saveAttempt(ctx, j, v.Trail); err != nil {
		return err
	}
	h.Observer.Retry(j.progress.RetryOf)
	j.log.Info().Str("event", "retry").Str("provider", j.progress.RetryOf).
		Int("retry", j.progress.Retries+1).Time("at", v.At).Send()
	return &RetryError{At: v.At, Reason: lead.Summary(v.Trail) + "; " + v.Why}
}

// snooze puts the lead back. The ledger is written only when something happened:
// a lead that merely waits for a slot may do so many times.
func (h *handlers) snooze(ctx context.Context, j *job, v chain.Verdict) error {
	if len(v.Trail) > 0 {
		if err := h.saveAttempt(ctx, j, v.Trail); err != nil {
			return err
		}
	}
	h.Observer.Snooze()
	j.log.Debug().Str("event", "snooze").Time("at", v.At).Str("why", v.Why).Send()
	if v.Crowded {
		_ = clock.Sleep(ctx, crowdedFor) // cut short or not, the lead is put back
	}
	return &SnoozeError{Until: v.At, Reason: v.Why}
}

// crowdedFor is how long a worker slot is kept for a lead that found no place under the
// rate limit. It bounds how fast a backlog goes round: without it, a worker would
// move a whole import from the queue to the retry set and back, again and again,
// for the few leads a second that may pass.
const crowdedFor = time.Second

// handOver gives a lead whose chain ended without a full profile to the fallback,
// at once. Where something failed, the task then goes to the archive, the
// dead-letter queue, with the whole trail as its error; where every provider gave
// its valid negative answer nothing failed, and the task is done.
func (h *handlers) handOver(ctx context.Context, j *job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := h.Queue.RunFallback(ctx, j.payload); err != nil {
		j.log.Warn().Err(err).Str("event", "fallback").Msg("the fallback could not be started; trying again")
		return h.snoozed(lookAgain, "the fallback could not be started")
	}
	if j.progress.Ended == chain.KindNegative {
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

// alone lets one lead at a time pass whose runs have ended without a word before.
// When a worker dies, all that it was working on is under suspicion, and most of
// it innocent; run one at a time, the innocent are cleared and only what kills the
// worker again is under it again. The others come back in a second.
func (h *handlers) alone() (leave func(), err error) {
	select {
	case h.quarantine <- struct{}{}:
		return func() { <-h.quarantine }, nil
	default:
		return nil, h.snoozed(time.Second, "waits for its turn alone, after runs that ended without a word")
	}
}
