package ledger

import (
	"context"
	"fmt"
	"time"

	"backstop/lead"
)

// This file deletes what is too old. What goes with an outcome, and what with a trail,
// is in the table of erase.go.

// CircuitEventAge is how long the ledger keeps changes of circuits; nothing but
// [Measures.Trips] uses them.
const CircuitEventAge = 90 * 24 * time.Hour

// Expired is what a call of [Ledger.Expire] deleted.
type Expired struct {
	Leads  []lead.Run // with their outcomes and trails
	Trails int        // leads that lost only their trail
}

const (
	oldOutcomes = `SELECT o.lead_id, l.generation FROM outcomes o JOIN leads l ON l.lead_id = o.lead_id
WHERE o.settled_at < $1 AND l.settled_generation >= l.generation
ORDER BY o.settled_at, o.lead_id LIMIT $2`

	oldTrails = `SELECT o.lead_id, l.generation FROM outcomes o JOIN leads l ON l.lead_id = o.lead_id
WHERE NOT o.trail_expired AND o.settled_at < $1 AND l.settled_generation >= l.generation
ORDER BY o.settled_at, o.lead_id LIMIT $2`

	// Events of the same millisecond go together, so there may be some more than $2 + 1.
	deleteOldEvents = `DELETE FROM circuit_events WHERE at < $1
AND at <= coalesce((SELECT at FROM circuit_events ORDER BY at LIMIT 1 OFFSET $2), $1)`
)

// Expire deletes the leads whose outcome was settled before outcomesBefore, with
// outcome and trail; the trails of the leads whose outcome was settled before
// trailsBefore; and the changes of circuits that are older than [CircuitEventAge]. Of
// each kind it deletes at most about limit, the oldest first, so that a call takes only
// a moment. The zero time deletes no leads, or no trails. While a call deletes as many
// as it may, there can be more.
//
// The leads are those that [Ledger.Expirable] lists, in the same order, unless they
// changed meanwhile.
//
// A lead that is live, because it is being replayed, is left alone. A suppressed
// outcome expires like others; that the person is suppressed does not. What a lead
// cost stays: in its outcome when its trail expires, and in [Ledger.Spent] when the lead
// does.
func (l *Ledger) Expire(ctx context.Context, outcomesBefore, trailsBefore time.Time, limit int) (Expired, error) {
	if limit <= 0 {
		return Expired{}, nil
	}
	var gone Expired
	wr := &write{}
	wr.run = func(ctx context.Context, s session) error {
		leads, err := s.expire(ctx, expiring, oldOutcomes, outcomesBefore, limit)
		if err != nil {
			return err
		}
		trails, err := s.expire(ctx, expiringTrails, oldTrails, trailsBefore, limit)
		if err != nil {
			return err
		}
		gone = Expired{Leads: leads, Trails: len(trails)}
		wr.erases = len(leads) > 0 || len(trails) > 0
		return s.exec(ctx, deleteOldEvents, s.at.Add(-CircuitEventAge).UnixMilli(), limit)
	}
	if err := l.writer.do(ctx, wr); err != nil {
		return Expired{}, fmt.Errorf("expire leads: %w", err) // gone may still be written to
	}
	return gone, nil
}

// Expirable returns the leads that [Ledger.Expire] with the same time and limit will
// delete, in the order in which it does so, and deletes nothing. Callers that keep
// something elsewhere that must go with a lead remove it between the two calls: if they
// die there, the leads can still be found. If leads change between the calls, Expire
// deletes others than these; it says which.
func (l *Ledger) Expirable(ctx context.Context, outcomesBefore time.Time, limit int) ([]lead.Run, error) {
	if limit <= 0 || outcomesBefore.IsZero() {
		return nil, nil
	}
	runs, err := readAll(ctx, l.reader(), scanRun, oldOutcomes, outcomesBefore.UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("find leads that expire: %w", err)
	}
	return runs, nil
}

// expire erases the leads that a query picks, and returns them. Those that changed
// between the query and the lock are left alone: they are not the oldest any more.
func (s session) expire(ctx context.Context, on occasion, query string, before time.Time, limit int) (gone []lead.Run, err error) {
	if before.IsZero() {
		return nil, nil
	}
	old, err := readAll(ctx, s, scanRun, query, before.UnixMilli(), limit)
	if err != nil || len(old) == 0 {
		return nil, err
	}
	ids := make([]string, len(old))
	for i, r := range old {
		ids[i] = r.LeadID
	}
	rows, err := lockRows(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	ids = nil
	for _, o := range old {
		if r := rows[o.LeadID]; r != nil && r.SettledGeneration >= r.generation && !r.settled.IsZero() && r.settled.Before(before) {
			ids, gone = append(ids, r.LeadID), append(gone, lead.Run{LeadID: r.LeadID, Generation: r.generation})
		}
	}
	if len(gone) > 0 {
		_, err = s.erase(ctx, on, ids, nil, erasure{})
	}
	return gone, err
}
