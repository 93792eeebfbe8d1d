package ops

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/time/rate"

	"backstop/accept"
	"backstop/lead"
	"backstop/ledger"
)

// A Replayer runs leads again that have an outcome, each as a new generation. A
// better outcome will replace the one that is there, a worse one will not.
type Replayer struct {
	Ledger   *ledger.Ledger
	Enqueuer *accept.Enqueuer // nil is enough for a Preview
	Rate     float64          // leads a second; 0: as fast as they can be queued
}

// A Replay says what became of a call: Matched = Replayed + Skipped + those that
// it did not come to.
type Replay struct {
	Matched  int `json:"matched"`
	Replayed int `json:"replayed"`
	Skipped  int `json:"skipped"` // under way already, or not in need of it any more
}

// replayBatch is the most leads that are replayed between two looks at the context.
const replayBatch = 100

// ErrNoReplay is the error of a replay of leads whose person opted out.
var ErrNoReplay = errors.New("a suppressed lead is not replayed: the person asked not to be processed")

// Run replays the leads of the outcomes that f picks. When ctx ends it stops
// between two batches, of a fifth of a second each at most; what it returns is
// exact then, too. A lead that it has counted as replayed comes to an outcome even
// if the queue could not be reached: a worker finds it in the ledger. Running it
// again goes on where it stopped.
func (r Replayer) Run(ctx context.Context, f ledger.Filter) (Replay, error) {
	pace := r.pace()
	return r.each(ctx, f, pace.Burst(), func(batch []string) (int, error) {
		if err := pace.WaitN(ctx, len(batch)); err != nil {
			return 0, err
		}
		ready, err := r.ready(ctx, f, batch)
		if err != nil {
			return 0, err
		}
		// From here on the leads are open. A cancelled caller must not leave them
		// without tasks for longer than needed.
		return r.Enqueuer.Again(context.WithoutCancel(ctx), ready)
	})
}

// pace spreads the batches of a replay evenly over time. A batch is the leads of a fifth of
// a second, so that what is asked for a second is also true of its parts, and one that was
// late is not made up for by a burst.
func (r Replayer) pace() *rate.Limiter {
	if r.Rate <= 0 {
		return rate.NewLimiter(rate.Inf, replayBatch)
	}
	return rate.NewLimiter(rate.Limit(r.Rate), min(max(1, int(r.Rate/5)), replayBatch))
}

// Preview says what Run would do, and calls show with the ID of each lead that it
// would replay. It changes nothing.
func (r Replayer) Preview(ctx context.Context, f ledger.Filter, show func(leadID string)) (Replay, error) {
	sum, err := r.each(ctx, f, replayBatch, func(batch []string) (int, error) {
		ready, err := r.ready(ctx, f, batch)
		for _, rec := range ready {
			show(rec.LeadID)
		}
		return len(ready), err
	})
	sum.Replayed = 0
	return sum, err
}

// each calls do with the leads that f picks, batch by batch, and adds up how many of
// them were replayed. The leads are read a page at a time: a replay may take hours, and
// neither memory nor the database keeps them all for as long. If it ends early, Matched
// is what the ledger counted at the beginning.
func (r Replayer) each(ctx context.Context, f ledger.Filter, size int, do func(batch []string) (int, error)) (sum Replay, err error) {
	if len(f.Statuses) == 0 || slices.Contains(f.Statuses, lead.StatusSuppressed) {
		return sum, ErrNoReplay
	}
	if sum.Matched, err = r.Ledger.CountOutcomes(ctx, f); err != nil {
		return sum, err
	}
	batch := make([]string, 0, size)
	flush := func() error {
		n, err := do(batch)
		sum.Replayed += n
		if err == nil {
			sum.Skipped += len(batch) - n
		}
		batch = batch[:0]
		return err
	}
	for o, err := range r.Ledger.Outcomes(ctx, f) {
		if err != nil && o.LeadID == "" { // a damaged one is skipped in its turn
			return sum, err
		}
		if batch = append(batch, o.LeadID); len(batch) == size {
			if err := flush(); err != nil {
				return sum, err
			}
		}
	}
	if len(batch) > 0 {
		err = flush()
	}
	if err == nil {
		sum.Matched = sum.Replayed + sum.Skipped
	}
	return sum, err
}

// ready are those of the leads that are still as f wants them, can be read, and are not
// under way.
func (r Replayer) ready(ctx context.Context, f ledger.Filter, leadIDs []string) ([]ledger.Record, error) {
	records, err := r.Ledger.Records(ctx, leadIDs)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(records, func(rec ledger.Record) bool {
		return rec.Damaged != nil || rec.Live() || !slices.Contains(f.Statuses, rec.Status)
	}), nil
}
