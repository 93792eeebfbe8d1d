package tasks

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"backstop/ledger"
)

// examine gives tasks again to those leads of a page that have none.
func (r *reconciler) examine(ctx context.Context, page []ledger.Record) error {
	states, err := unaccounted(ctx, r.Ledger, r.Queue, page)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(enqueueParallel)
	for i, rec := range page {
		if s, found := states[i]; found {
			g.Go(func() error { return r.putBack(ctx, rec, s) })
		}
	}
	return g.Wait()
}

// putBack gives a lead a task: its fallback when its chain has ended, else its
// enrichment.
func (r *reconciler) putBack(ctx context.Context, rec ledger.Record, s TaskStates) error {
	p := payloadFor(rec)
	log := r.Log.With().Str("request_id", rec.RequestID).Str("lead_id", rec.LeadID).Logger()
	if r.progressOf(rec, log).Ended != "" || s.Archived() {
		log.Info().Str("event", "rescued").Str("queue", QueueFallback).Msg("nobody settled this lead; its fallback runs now")
		r.Observer.Rescued(1, QueueFallback)
		return r.Queue.RunFallback(ctx, p)
	}
	log.Info().Str("event", "rescued").Str("queue", QueueEnrich).Msg("this lead had no task; it is queued again")
	r.Observer.Rescued(1, QueueEnrich)
	_, err := r.Queue.Enrich(ctx, p)
	return err
}

// payloadFor is the payload of a lead's tasks.
func payloadFor(rec ledger.Record) Payload {
	return Payload{LeadID: rec.LeadID, RequestID: rec.RequestID, Generation: rec.Generation, Lead: rec.Lead}
}

// refsOf names the runs of a page of leads.
func refsOf(page []ledger.Record) []ledger.Ref {
	refs := make([]ledger.Ref, len(page))
	for i, rec := range page {
		refs[i] = ledger.Ref{LeadID: rec.LeadID, Generation: rec.Generation}
	}
	return refs
}

// unaccounted finds the leads of a page that are not settled and have no task
// that would bring them further, with the states of the tasks that they have.
func unaccounted(ctx context.Context, l *ledger.Ledger, q *Queue, page []ledger.Record) (map[int]TaskStates, error) {
	refs := refsOf(page)
	states, err := q.States(ctx, refs)
	if err != nil {
		return nil, err
	}
	var without []int
	var candidates []ledger.Ref
	for i := range page {
		if !states[i].Live() {
			without = append(without, i)
			candidates = append(candidates, refs[i])
		}
	}
	// Their tasks may have ended just now, with the outcome written before.
	settled, err := l.Settled(ctx, candidates)
	if err != nil {
		return nil, fmt.Errorf("look at leads without a task again: %w", err)
	}
	found := map[int]TaskStates{}
	for k, i := range without {
		if !settled[k] {
			found[i] = states[i]
		}
	}
	return found, nil
}

// EachUnaccounted calls f for every lead that was accepted before the given time,
// is not settled, and has no task that would bring it further. f's first error
// ends it.
func EachUnaccounted(ctx context.Context, l *ledger.Ledger, q *Queue, acceptedBefore time.Time, f func(ledger.Record, TaskStates) error) error {
	for after := ""; ; {
		page, err := l.LivePage(ctx, after, acceptedBefore, reconcilePage)
		if err != nil {
			return fmt.Errorf("list open leads: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		states, err := unaccounted(ctx, l, q, page)
		if err != nil {
			return err
		}
		for i, rec := range page {
			if s, found := states[i]; found {
				if err := f(rec, s); err != nil {
					return err
				}
			}
		}
		after = page[len(page)-1].LeadID
	}
}
