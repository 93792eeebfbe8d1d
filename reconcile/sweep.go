package reconcile

import (
	"context"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"backstop/ledger"
	"backstop/queue"
)

// filling is the epoch of a Redis that was emptied and is being refilled, followed by the
// token of who does it. Whoever finds another epoch than their own begins anew: Redis was
// emptied once more, or the one who was at it is gone.
const filling = "filling "

// refillFor bounds one step's refilling: dead workers' leads do not wait for the rest.
const refillFor = 900 * time.Millisecond

// refillOrSweep looks at the next page of open leads, or at as many pages as a step has
// time for when Redis was emptied.
func (r *Reconciler) refillOrSweep(ctx context.Context) error {
	epoch, err := r.Queue.Epoch(ctx)
	switch {
	case err != nil:
		return err
	case epoch == filling+r.token:
		return r.refill(ctx)
	case epoch == "" || strings.HasPrefix(epoch, filling):
		r.Log.Warn().Str("event", "reconcile").Msg("Redis is new or was emptied; every open lead is looked at")
		if err := r.Queue.SetEpoch(ctx, filling+r.token); err != nil {
			return err
		}
		r.refillAfter = ""
		return r.refill(ctx)
	}
	return r.sweepPage(ctx)
}

// refill looks at every open lead, page after page, and goes on in the next step when
// it has taken long. Redis counts as filled only after the last page.
func (r *Reconciler) refill(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < refillFor; {
		page, err := r.Ledger.LivePage(ctx, r.refillAfter, time.Time{}, pageSize)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return r.Queue.SetEpoch(ctx, time.Now().UTC().Format(time.RFC3339Nano))
		}
		if err := r.examine(ctx, page); err != nil {
			return err
		}
		r.refillAfter = page[len(page)-1].LeadID
		if held, err := r.Queue.AcquireLease(ctx, r.token, leaseFor); err != nil || !held {
			return err
		}
	}
	return nil
}

// sweepPage looks at the next page of open leads. It goes round and round, a page
// in each step, and rests when nothing is open.
func (r *Reconciler) sweepPage(ctx context.Context) error {
	if r.sweepAfter == "" && r.Now().Sub(r.sweptAt) < idleEvery {
		return nil
	}
	page, err := r.Ledger.LivePage(ctx, r.sweepAfter, r.Now().Add(-Grace), pageSize)
	if err != nil {
		return err
	}
	if len(page) < pageSize {
		r.sweepAfter, r.sweptAt = "", r.Now()
	} else {
		r.sweepAfter = page[len(page)-1].LeadID
	}
	return r.examine(ctx, page)
}

// sweepUnqueued looks at leads of which no queue was told, because whoever
// accepted them died or could not reach Redis.
func (r *Reconciler) sweepUnqueued(ctx context.Context) error {
	page, err := r.Ledger.UnqueuedPage(ctx, "", r.Now().Add(-Grace/2), pageSize)
	if err != nil || len(page) == 0 {
		return err
	}
	if err := r.examine(ctx, page); err != nil {
		return err
	}
	return r.Ledger.MarkEnqueued(ctx, runsOf(page))
}

// examine gives tasks again to those leads of a page that have none. One that cannot be
// given one does not keep the others from it.
func (r *Reconciler) examine(ctx context.Context, page []ledger.Record) error {
	states, err := unaccounted(ctx, r.Ledger, r.Queue, page)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, rec := range page {
		if s, found := states[i]; found {
			g.Go(func() error { return r.putBack(ctx, rec, s) })
		}
	}
	return g.Wait()
}

// putBack gives a lead a task: its fallback when its chain has ended or it cannot be
// read, else its enrichment.
func (r *Reconciler) putBack(ctx context.Context, rec ledger.Record, s queue.States) error {
	log := r.logOf(rec)
	if rec.Damaged != nil {
		log.Error().Err(rec.Damaged).Str("event", "damaged").Msg("this lead cannot be read; its fallback settles it as it is")
		r.Observer.Rescued(1, queue.QueueFallback)
		return r.Queue.RunFallback(ctx, payloadFor(rec))
	}
	if r.progressOf(rec).Ended != "" || s.Archived() {
		log.Info().Str("event", "rescued").Str("queue", queue.QueueFallback).Msg("nobody settled this lead; its fallback runs now")
		r.Observer.Rescued(1, queue.QueueFallback)
		return r.Queue.RunFallback(ctx, payloadFor(rec))
	}
	log.Info().Str("event", "rescued").Str("queue", queue.QueueEnrich).Msg("this lead had no task; it is queued again")
	r.Observer.Rescued(1, queue.QueueEnrich)
	_, err := r.Queue.Enrich(ctx, payloadFor(rec))
	return err
}
