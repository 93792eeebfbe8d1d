package reconcile

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"backstop/chain"
	"backstop/clock"
	"backstop/lead"
	"backstop/ledger"
	"backstop/queue"
)

// Grace is how long a lead may be on its way from the ledger to the queue before one
// without a task counts as unaccounted for.
const Grace = 10 * time.Second

// The reconciler's pace. A page bounds what one step holds in memory and asks of
// the ledger and of Redis at once.
const (
	every     = time.Second
	leaseFor  = 3 * time.Second
	pageSize  = 500
	parallel  = 32              // tasks that are put on the queue at once
	idleEvery = 5 * time.Second // between sweeps that find nothing open
	// blind is the gap between two steps after which this process was stopped, and what
	// it remembers is no news of the others.
	blind = 5 * time.Second
)

// An Observer counts what a reconciler does. Its methods must not block.
type Observer interface {
	Rescued(n int, queue string) // n leads were put back on the queue "enrich" or "fallback"
	Settled(s ledger.Settlement, done ledger.Settled, acceptedAt lead.Time)
}

// Config is what a [Reconciler] works with.
type Config struct {
	Ledger    *ledger.Ledger
	Queue     *queue.Queue
	Want      []lead.Field // a profile with these is full
	Retention Retention
	Log       zerolog.Logger
	Observer  Observer
	Now       func() time.Time // nil: time.Now
}

// A Reconciler is one replica's part of the fleet's reconciler.
type Reconciler struct {
	Config
	token string
	watch leaseWatch

	sweepAfter  string    // where the sweep goes on
	sweptAt     time.Time // when the last sweep came to its end
	refillAfter string    // where the refill of an emptied Redis goes on
	steppedAt   time.Time
	expireAt    time.Time // when to look next for what is too old
}

// New returns a reconciler. [Reconciler.Run] makes it work.
func New(c Config) *Reconciler {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Reconciler{Config: c, token: uuid.NewString(), watch: newLeaseWatch()}
}

// Run reconciles until ctx ends.
func (r *Reconciler) Run(ctx context.Context) {
	failed := "" // the last error, so that it is logged once
	clock.Every(ctx, every, func() {
		err := r.Step(ctx)
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

// Step looks at the tasks in work, and does everything else if this replica holds
// the fleet's lease.
func (r *Reconciler) Step(ctx context.Context) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	held, err := r.Queue.AcquireLease(ctx, r.token, leaseFor)
	if err != nil || !held {
		return err
	}
	return errors.Join(
		r.Queue.Register(ctx),
		r.rescueOverdue(ctx),
		r.refillOrSweep(ctx),
		r.sweepUnqueued(ctx),
		r.trim(ctx),
		r.expire(ctx),
	)
}

// logOf is the log of one lead.
func (r *Reconciler) logOf(rec ledger.Record) zerolog.Logger {
	return r.Log.With().Str("request_id", rec.RequestID).Str("lead_id", rec.LeadID).Logger()
}

// progressOf is what was done for a lead so far.
func (r *Reconciler) progressOf(rec ledger.Record) *chain.Progress {
	p, err := chain.Resume(rec.Progress, rec.Lead, rec.Generation, r.Now())
	if err != nil {
		log := r.logOf(rec)
		log.Error().Err(err).Str("event", "progress").Msg("what was done for this lead cannot be read; it goes to the fallback")
	}
	return p
}

// payloadFor is the payload of a lead's tasks.
func payloadFor(rec ledger.Record) queue.Payload {
	return queue.Payload{LeadID: rec.LeadID, RequestID: rec.RequestID, Generation: rec.Generation, Lead: rec.Lead}
}
