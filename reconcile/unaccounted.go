package reconcile

import (
	"context"
	"fmt"
	"time"

	"backstop/lead"
	"backstop/ledger"
	"backstop/queue"
)

// EachUnaccounted calls f for every lead that was accepted before the given time,
// is not settled, and has no task that would bring it further. f's first error
// ends it.
func EachUnaccounted(ctx context.Context, l *ledger.Ledger, q *queue.Queue, acceptedBefore time.Time, f func(ledger.Record) error) error {
	for after := ""; ; {
		page, err := l.LivePage(ctx, after, acceptedBefore, pageSize)
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
			if _, found := states[i]; found {
				if err := f(rec); err != nil {
					return err
				}
			}
		}
		after = page[len(page)-1].LeadID
	}
}

// unaccounted finds the leads of a page that are not settled and have no task
// that would bring them further, with the states of the tasks that they have.
func unaccounted(ctx context.Context, l *ledger.Ledger, q *queue.Queue, page []ledger.Record) (map[int]queue.States, error) {
	runs := runsOf(page)
	states, err := q.States(ctx, runs)
	if err != nil {
		return nil, err
	}
	var without []int
	var candidates []lead.Run
	for i := range page {
		if !states[i].Live() {
			without = append(without, i)
			candidates = append(candidates, runs[i])
		}
	}
	// Their tasks may have ended just now, with the outcome written before.
	settled, err := l.Settled(ctx, candidates)
	if err != nil {
		return nil, fmt.Errorf("look at leads without a task again: %w", err)
	}
	found := map[int]queue.States{}
	for k, i := range without {
		if !settled[k] {
			found[i] = states[i]
		}
	}
	return found, nil
}

// runsOf names the runs of a page of leads.
func runsOf(page []ledger.Record) []lead.Run {
	runs := make([]lead.Run, len(page))
	for i, rec := range page {
		runs[i] = rec.Run()
	}
	return runs
}
