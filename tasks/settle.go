package tasks

import (
	"context"
	"errors"

	"backstop/lead"
	"backstop/ledger"
)

// settle writes the lead's outcome. When it returns nil the outcome is durable, and
// what Redis has of a person who asked not to be processed is removed.
func (h *handlers) settle(ctx context.Context, j *job, s ledger.Settlement) error {
	s.LeadID, s.Generation = j.record.LeadID, j.record.Generation
	s.StartedAt, s.Retries, s.Found = j.progress.StartedAt, j.progress.Retries, j.progress.Found
	if !s.Fallback {
		s.Version = j.record.Version
	}
	var done ledger.Settled
	err := h.write(ctx, j, func(ctx context.Context) (err error) {
		done, err = h.Ledger.Settle(ctx, s)
		return err
	})
	switch {
	case errors.Is(err, ledger.ErrStale) && s.Status == lead.StatusSuppressed:
		// It did not settle the lead, but the person was erased from the ledger.
		return errors.Join(err, h.traces(ctx, j.record, j.record.Lead, done.Others, j.log))
	case err != nil:
		return err
	}
	h.settled(j, s, done)
	if done.Status != lead.StatusSuppressed {
		return nil
	}
	j.suppressed = true
	return h.traces(ctx, j.record, j.record.Lead, done.Others, j.log)
}

// settled counts and logs an outcome.
func (h *handlers) settled(j *job, s ledger.Settlement, done ledger.Settled) {
	now := h.Now()
	path := PathDirect
	switch {
	case s.Fallback:
		path = PathFallback
	case s.Retries > 0:
		path = PathRetried
	}
	if done.Applied {
		h.Observer.Settled(Settlement{
			Status: done.Status, Path: path, Retried: s.Retries > 0, First: done.First,
			SinceStart: now.Sub(s.StartedAt.Time), SinceAccept: now.Sub(j.record.AcceptedAt.Time),
		})
	}
	j.log.Info().Str("event", "settled").Str("status", string(done.Status)).Str("path", string(path)).
		Bool("applied", done.Applied).Str("reason", s.Reason).Int("retries", s.Retries).
		Int64("ms", now.Sub(s.StartedAt.Time).Milliseconds()).Send()
}
