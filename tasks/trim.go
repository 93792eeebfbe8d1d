package tasks

import (
	"context"

	"backstop/ledger"
)

// asynq deletes the oldest entries of an archive silently from 10,000 on, and its
// script breaks for good when more than about 8,000 have expired. An archive is
// kept far below both.
const (
	archiveHigh = 4000
	archiveLow  = 3500
)

// trim removes the oldest entries of each archive that has grown too long, but
// only those whose lead has its outcome in the ledger.
func (r *reconciler) trim(ctx context.Context) error {
	for _, queue := range []string{QueueEnrich, QueueFallback} {
		if err := r.trimQueue(ctx, queue); err != nil {
			return err
		}
	}
	return nil
}

func (r *reconciler) trimQueue(ctx context.Context, queue string) error {
	_, size, err := r.Queue.archive(ctx, queue, 0, 0)
	if err != nil || size <= archiveHigh {
		return err
	}
	var kept int64 // entries from the oldest on that have to stay
	for size > archiveLow {
		ids, _, err := r.Queue.archive(ctx, queue, kept, min(reconcilePage, size-archiveLow))
		if err != nil || len(ids) == 0 {
			return err
		}
		done, err := r.accountedFor(ctx, ids)
		if err != nil {
			return err
		}
		removed := 0
		if len(done) > 0 {
			if removed, err = r.Queue.unarchive(ctx, queue, done); err != nil {
				return err
			}
		}
		kept += int64(len(ids) - len(done))
		size -= int64(len(ids))
		r.Log.Info().Str("event", "trimmed").Str("queue", queue).Int("removed", removed).
			Msg("old entries of the archive, whose outcomes are in the ledger, were removed")
	}
	return nil
}

// accountedFor are those of the tasks whose lead has its outcome.
func (r *reconciler) accountedFor(ctx context.Context, ids []string) ([]string, error) {
	var ours []string
	var refs []ledger.Ref
	for _, id := range ids {
		if leadID, generation, ok := parseTaskID(id); ok {
			ours = append(ours, id)
			refs = append(refs, ledger.Ref{LeadID: leadID, Generation: generation})
		}
	}
	settled, err := r.Ledger.Settled(ctx, refs)
	if err != nil {
		return nil, err
	}
	var done []string
	for i, id := range ours {
		if settled[i] {
			done = append(done, id)
		}
	}
	return done, nil
}
