package ops

import (
	"context"
	"errors"
	"slices"
	"time"

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

	Now  func() time.Time                           // nil: time.Now
	Wait func(context.Context, time.Duration) error // nil: a timer; returns early with ctx's error
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
	ids, err := r.matching(ctx, f)
	sum := Replay{Matched: len(ids)}
	if err != nil {
		return sum, err
	}
	pace := r.pace()
	for batch := range slices.Chunk(ids, pace.batch()) {
		if err := pace.wait(ctx, len(batch)); err != nil {
			return sum, err
		}
		ready, err := r.ready(ctx, f, batch)
		if err != nil {
			return sum, err
		}
		// From here on the leads are open. A cancelled caller must not leave them
		// without tasks for longer than needed.
		n, err := r.Enqueuer.Again(context.WithoutCancel(ctx), ready)
		sum.Replayed += n
		if err != nil {
			return sum, err
		}
		sum.Skipped += len(batch) - n
	}
	return sum, nil
}

// Preview says what Run would do, and calls show with the ID of each lead that it
// would replay. It changes nothing.
func (r Replayer) Preview(ctx context.Context, f ledger.Filter, show func(leadID string)) (Replay, error) {
	ids, err := r.matching(ctx, f)
	sum := Replay{Matched: len(ids)}
	if err != nil {
		return sum, err
	}
	for batch := range slices.Chunk(ids, replayBatch) {
		ready, err := r.ready(ctx, f, batch)
		if err != nil {
			return sum, err
		}
		for _, rec := range ready {
			show(rec.LeadID)
		}
		sum.Skipped += len(batch) - len(ready)
	}
	return sum, nil
}

// matching lists the leads that f picks now. They are all read before the first
// is replayed, because a replay may take hours and the database would have to keep
// its state of the beginning for as long.
func (r Replayer) matching(ctx context.Context, f ledger.Filter) ([]string, error) {
	if len(f.Statuses) == 0 || slices.Contains(f.Statuses, lead.StatusSuppressed) {
		return nil, ErrNoReplay
	}
	var ids []string
	for o, err := range r.Ledger.Outcomes(ctx, f) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, o.LeadID)
	}
	return ids, nil
}

// ready are those of the leads that are still as f wants them and not under way.
func (r Replayer) ready(ctx context.Context, f ledger.Filter, leadIDs []string) ([]ledger.Record, error) {
	records, err := r.Ledger.Records(ctx, leadIDs)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(records, func(rec ledger.Record) bool {
		return rec.Live() || !slices.Contains(f.Statuses, rec.Status)
	}), nil
}
