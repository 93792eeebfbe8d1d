package reconcile

import (
	"context"

	"backstop/lead"
	"backstop/queue"
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
func (r *Reconciler) trim(ctx context.Context) error {
	for _, name := range queue.Names {
		if err := r.trimQueue(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) trimQueue(ctx context.Context, name string) error {
	_, size, err := r.Queue.Archive(ctx, name, 0, 0)
	if err != nil || size <= archiveHigh {
		return err
	}
	var kept int64 // entries from the oldest on that have to stay
	for size > archiveLow {
		ids, _, err := r.Queue.Archive(ctx, name, kept, min(pageSize, size-archiveLow))
		if err != nil || len(ids) == 0 {
			return err
		}
		done, err := r.accountedFor(ctx, ids)
		if err != nil {
			return err
		}
		removed := 0
		if len(done) > 0 {
			if removed, err = r.Queue.Unarchive(ctx, name, done); err != nil {
				return err
			}
		}
		kept += int64(len(ids) - len(done))
		size -= int64(len(ids))
		r.Log.Info().Str("event", "trimmed").Str("queue", name).Int("removed", removed).
			Msg("old entries of the archive, whose outcomes are in the ledger, were removed")
	}
	return nil
}

// accountedFor are those of the tasks whose lead has its outcome.
func (r *Reconciler) accountedFor(ctx context.Context, ids []string) ([]string, error) {
	var ours []string
	var runs []lead.Run
	for _, id := range ids {
		if run, ok := queue.ParseID(id); ok {
			ours = append(ours, id)
			runs = append(runs, run)
		}
	}
	settled, err := r.Ledger.Settled(ctx, runs)
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
