package tasks

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"backstop/lead"
	"backstop/ledger"
)

// An Enqueuer accepts leads: into the ledger first, then on the queue.
type Enqueuer struct {
	Ledger *ledger.Ledger
	Queue  *Queue
	Log    zerolog.Logger

	unqueued atomic.Int64
}

// enqueueParallel is how many tasks are put on the queue at once. asynq has no
// bulk call; this many in flight hide the round trip.
const enqueueParallel = 32

// Put accepts leads that [lead.Normalize] returned. With a nil error every one of
// them is in the ledger and will come to an outcome. If the queue cannot be
// reached they are accepted all the same, and the workers' reconciler puts them
// on the queue; [Enqueuer.Unqueued] counts them.
//
// A lead whose person asked not to be processed is turned away: it is Suppressed
// and is in neither. A lead that was accepted before is a duplicate. Its task is enqueued again only
// if it has no outcome yet, under the same TaskID, so that a run that died between
// the ledger and the queue is completed by the next.
func (e *Enqueuer) Put(ctx context.Context, leads []lead.Lead) ([]ledger.Accepted, error) {
	accepted, err := e.Ledger.Accept(ctx, leads)
	if err != nil {
		return nil, fmt.Errorf("accept %d leads: %w", len(leads), err)
	}
	// From here on the leads are accepted. A cancelled caller must not leave them
	// without tasks for longer than needed.
	ctx = context.WithoutCancel(ctx)
	queued := make([]bool, len(accepted))
	var away atomic.Bool // one failed: the rest would only wait for the same time-outs
	var g errgroup.Group
	g.SetLimit(enqueueParallel)
	for i, a := range accepted {
		if !a.Live { // settled, or of a person who asked not to be processed
			continue
		}
		g.Go(func() error {
			if away.Load() {
				return nil
			}
			_, err := e.Queue.Enrich(ctx, Payload{LeadID: a.LeadID, RequestID: a.RequestID, Generation: a.Generation, Lead: a.Lead})
			queued[i] = err == nil
			if err != nil {
				away.Store(true)
			}
			if err == nil && !a.Duplicate {
				e.Log.Debug().Str("event", "accepted").Str("request_id", a.RequestID).Str("lead_id", a.LeadID).Send()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		e.Log.Warn().Err(err).Str("event", "unqueued").Msg("the queue cannot be reached; the leads are in the ledger and a worker will queue them")
	}
	var refs []ledger.Ref
	for i, a := range accepted {
		switch {
		case queued[i] && !a.Duplicate:
			refs = append(refs, ledger.Ref{LeadID: a.LeadID, Generation: a.Generation})
		case a.Live && !queued[i]:
			e.unqueued.Add(1)
		}
	}
	if err := e.Ledger.MarkEnqueued(ctx, refs); err != nil {
		// Only the reconciler reads the mark, and it looks at the queue before it acts.
		e.Log.Warn().Err(err).Str("event", "ledger").Msg("the leads are queued but not marked so")
	}
	return accepted, nil
}

// Unqueued is how many accepted leads could not be put on the queue so far.
func (e *Enqueuer) Unqueued() int64 { return e.unqueued.Load() }
