package tasks

import (
	"context"
	"errors"
	"time"

	"backstop/clock"
	"backstop/lead"
	"backstop/ledger"
)

// saveAttempt stores the progress and the new part of the trail. A run that is fenced,
// because the lead went on without it, gets [ledger.ErrStale].
func (h *handlers) saveAttempt(ctx context.Context, j *job, trail []lead.TrailEntry) error {
	b, err := j.progress.Encode()
	if err != nil {
		return err
	}
	return h.write(ctx, j, func(ctx context.Context) error {
		version, err := h.Ledger.SaveAttempt(ctx, ledger.Attempt{
			LeadID: j.record.LeadID, Generation: j.record.Generation, StartedAt: j.progress.StartedAt,
			Retries: j.progress.Retries, Progress: b, Trail: trail, Version: j.record.Version, Found: j.progress.Found,
		})
		if err == nil {
			j.record.Version = version
		}
		return err
	})
}

// saveTrail stores the new part of the trail and nothing else: an attempt of no
// generation leaves the run that may be under way the right to go on.
func (h *handlers) saveTrail(ctx context.Context, j *job, trail []lead.TrailEntry) error {
	return h.write(ctx, j, func(ctx context.Context) error {
		_, err := h.Ledger.SaveAttempt(ctx, ledger.Attempt{LeadID: j.record.LeadID, Trail: trail, Found: j.progress.Found})
		return err
	})
}

// settle writes the lead's outcome. When it returns nil the outcome is durable, and
// what Redis has of a person who opted out is removed.
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
		return errors.Join(err, h.removeTraces(ctx, j.record, j.record.Lead, done.Others, j.log))
	case err != nil:
		return err
	}
	h.settled(j, s, done)
	if done.Status != lead.StatusSuppressed {
		return nil
	}
	return h.removeTraces(ctx, j.record, j.record.Lead, done.Others, j.log)
}

// settled counts and logs an outcome.
func (h *handlers) settled(j *job, s ledger.Settlement, done ledger.Settled) {
	h.Observer.Settled(s, done, j.record.AcceptedAt)
	j.log.Info().Str("event", "settled").Str("status", string(done.Status)).Str("path", string(s.Path())).
		Bool("applied", done.Applied).Str("reason", s.Reason).Int("retries", s.Retries).
		Int64("ms", h.Now().Sub(s.StartedAt.Time).Milliseconds()).Send()
}

// write makes a write, and repeats it while the ledger is away. It goes on when
// ctx ends: what a provider answered must not be lost to a shutdown.
func (h *handlers) write(ctx context.Context, j *job, op func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err := whileAway(ctx, op)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrNotFound):
		j.log.Info().Str("event", "erased").Msg("the lead was erased meanwhile; what this run found is dropped")
		return err
	case errors.Is(err, ledger.ErrStale):
		j.log.Warn().Str("event", "fenced").Msg("another run of this lead has gone on meanwhile; what this one found is in the trail only")
		return err
	}
	j.log.Error().Err(err).Str("event", "ledger").Msg("the ledger cannot be written; the lead is put back")
	return h.snoozed(5*time.Second, "the ledger cannot be written")
}

// whileAway repeats what needs the ledger as long as that is away and ctx lasts.
func whileAway(ctx context.Context, op func(context.Context) error) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := op(ctx)
		if err == nil || !ledger.IsAway(err) || ctx.Err() != nil {
			return err
		}
		if clock.Sleep(ctx, wait) != nil {
			return err // of the ledger, which says more
		}
	}
}
