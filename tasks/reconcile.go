package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// The reconciler's pace. A page bounds what one step holds in memory and asks of
// the ledger and of Redis at once.
const (
	reconcileEvery = time.Second
	reconcileLease = 3 * time.Second
	reconcileGrace = 10 * time.Second // a lead younger than this may still be on its way to the queue
	reconcilePage  = 500
	idleEvery      = 5 * time.Second // between sweeps that find nothing open
)

// A reconciler finds the leads that no task will bring to their outcome: those
// whose enqueue died half-way, that Redis forgot, whose worker died, or whose task
// ended without anybody settling. One replica of the fleet acts at a time, by a
// lease; the others watch, so that they know what they need when it is their turn.
// All that it does is idempotent, so that two for a moment do no harm.
type reconciler struct {
	*handlers
	token  string
	watch  leaseWatch
	after  string    // where the slow sweep goes on
	rested time.Time // when the last sweep came to its end
	looked time.Time // when the tasks in work were last looked at

	expireAt time.Time // when to look next for what is too old
}

func newReconciler(h *handlers) *reconciler {
	return &reconciler{handlers: h, token: uuid.NewString(), watch: newLeaseWatch()}
}

// run reconciles until ctx ends.
func (r *reconciler) run(ctx context.Context) {
	failed := "" // the last error, so that it is logged once
	every(ctx, reconcileEvery, func() {
		err := r.step(ctx)
		if err == nil || ctx.Err() != nil {
			failed = ""
			return
		}
		if err.Error() != failed {
			r.Log.Warn().Err(err).Str("event", "reconcile").Msg("the reconciler could not finish its step; it tries again")
		}
		failed = err.Error()
	})
}

// step looks at the tasks in work, and goes on with everything else if this
// replica holds the lease.
func (r *reconciler) step(ctx context.Context) error {
	tasks, err := r.Queue.actives(ctx)
	if err != nil {
		r.watch.reset() // what happened meanwhile was not seen
		return err
	}
	now := r.Now()
	if now.Sub(r.looked) > pulseMost {
		r.watch.reset() // this replica was stopped: what it remembers is no news of the others
	}
	r.looked = now
	r.watch.see(tasks, now)
	held, err := r.Queue.hold(ctx, r.token, reconcileLease)
	if err != nil || !held {
		return err
	}
	same, err := r.Queue.sameRedis(ctx)
	if err != nil {
		return err
	}
	if err := r.Queue.Register(ctx); err != nil {
		return err
	}
	if !same {
		r.Log.Warn().Str("event", "reconcile").Msg("Redis is new or was emptied; every open lead is looked at")
		return r.sweepAll(ctx)
	}
	for _, a := range r.watch.overdue(r.Now()) {
		if err := r.rescue(ctx, a); err != nil {
			return err
		}
	}
	if err := r.sweepUnqueued(ctx); err != nil {
		return err
	}
	if err := r.sweepPage(ctx); err != nil {
		return err
	}
	return errors.Join(r.trim(ctx), r.expire(ctx))
}

// sweepAll looks at every open lead, page after page, as long as the lease holds.
func (r *reconciler) sweepAll(ctx context.Context) error {
	for after := ""; ; {
		page, err := r.Ledger.LivePage(ctx, after, time.Time{}, reconcilePage)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := r.examine(ctx, page); err != nil {
			return err
		}
		after = page[len(page)-1].LeadID
		if held, err := r.Queue.hold(ctx, r.token, reconcileLease); err != nil || !held {
			return err
		}
	}
}

// sweepPage looks at the next page of open leads. It goes round and round, a page
// in each step, and rests when nothing is open.
func (r *reconciler) sweepPage(ctx context.Context) error {
	if r.after == "" && r.Now().Sub(r.rested) < idleEvery {
		return nil
	}
	page, err := r.Ledger.LivePage(ctx, r.after, r.Now().Add(-reconcileGrace), reconcilePage)
	if err != nil {
		return err
	}
	if len(page) < reconcilePage {
		r.after, r.rested = "", r.Now()
	} else {
		r.after = page[len(page)-1].LeadID
	}
	return r.examine(ctx, page)
}

// sweepUnqueued looks at leads of which no queue was told, because whoever
// accepted them died or could not reach Redis.
func (r *reconciler) sweepUnqueued(ctx context.Context) error {
	page, err := r.Ledger.UnqueuedPage(ctx, "", r.Now().Add(-reconcileGrace/2), reconcilePage)
	if err != nil || len(page) == 0 {
		return err
	}
	if err := r.examine(ctx, page); err != nil {
		return err
	}
	return r.Ledger.MarkEnqueued(ctx, refsOf(page))
}
