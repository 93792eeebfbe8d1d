package tasks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"backstop/ledger"
	"backstop/resilience"
)

// The reconciler's pace. A page bounds what one step holds in memory and what it
// asks of Redis at once.
const (
	reconcileEvery = 5 * time.Second
	reconcileGrace = 10 * time.Second // a lead younger than this may still be on its way to the queue
	reconcilePage  = 500
)

// A reconciler puts accepted leads that no task will bring to their outcome back
// on the queue: those whose enqueue died half-way, that a flushed Redis forgot, or
// whose task ended without anybody settling. Every replica may run one: all that
// it does is idempotent.
type reconciler struct{ *handlers }

// run reconciles until ctx ends.
func (r reconciler) run(ctx context.Context) {
	tick := time.NewTicker(reconcileEvery)
	defer tick.Stop()
	for {
		if err := r.pass(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn().Err(err).Str("event", "reconcile").Msg("the reconciler could not finish its pass")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// pass looks once at every lead that is not settled.
func (r reconciler) pass(ctx context.Context) error {
	if err := r.Queue.Register(ctx); err != nil {
		return err
	}
	return EachUnaccounted(ctx, r.Ledger, r.Queue, r.Now().Add(-reconcileGrace), func(rec ledger.Record, s TaskStates) error {
		return r.rescue(ctx, rec, s)
	})
}

// rescue gives a lead a task again: its fallback when its chain has ended, else
// its enrichment.
func (r reconciler) rescue(ctx context.Context, rec ledger.Record, s TaskStates) error {
	p := Payload{LeadID: rec.LeadID, RequestID: rec.RequestID, Generation: rec.Generation, Lead: rec.Lead}
	log := r.Log.With().Str("request_id", rec.RequestID).Str("lead_id", rec.LeadID).Logger()
	progress, err := resilience.LoadProgress(rec.Progress, rec.Lead, rec.Generation, r.Now())
	if err != nil || progress.Ended != "" || s.Archived() {
		log.Warn().Str("event", "rescued").Str("task", QueueFallback).Msg("nobody settled this lead; its fallback runs now")
		r.Observer.Rescued(1, QueueFallback)
		return r.Queue.RunFallback(ctx, p)
	}
	log.Warn().Str("event", "rescued").Str("task", QueueEnrich).Msg("this lead had no task; it is queued again")
	r.Observer.Rescued(1, QueueEnrich)
	_, err = r.Queue.Enrich(ctx, p)
	return err
}

// EachUnaccounted calls f for every lead that was accepted before the given time,
// is not settled, and has no task that would bring it further. f's first error
// ends it.
func EachUnaccounted(ctx context.Context, l *ledger.Ledger, q *Queue, acceptedBefore time.Time, f func(ledger.Record, TaskStates) error) error {
	after := ""
	for {
		page, err := l.LivePage(ctx, after, acceptedBefore, reconcilePage)
		if err != nil {
			return fmt.Errorf("list open leads: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		refs := make([]ledger.Ref, len(page))
		for i, rec := range page {
			refs[i] = ledger.Ref{LeadID: rec.LeadID, Generation: rec.Generation}
		}
		states, err := q.States(ctx, refs)
		if err != nil {
			return err
		}
		for i, rec := range page {
			if states[i].Live() {
				continue
			}
			// Its task may have ended just now, with the outcome written before.
			now, err := l.Get(ctx, rec.LeadID)
			switch {
			case errors.Is(err, ledger.ErrNotFound):
				continue
			case err != nil:
				return fmt.Errorf("look at lead %s again: %w", rec.LeadID, err)
			case !now.Live() || now.Generation != rec.Generation: // the states are those of another run
				continue
			}
			if err := f(now, states[i]); err != nil {
				return err
			}
		}
		after = page[len(page)-1].LeadID
	}
}
