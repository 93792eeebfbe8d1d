package ledger

import (
	"context"
	"fmt"
	"time"
)

// Expired is what a call of [Ledger.Expire] deleted.
type Expired struct {
	Leads  []Ref // with their outcomes and trails
	Trails int   // leads that lost their trail only
}

const (
	oldOutcomes = `SELECT o.lead_id, l.generation FROM outcomes o JOIN leads l ON l.lead_id = o.lead_id
WHERE o.settled_at < $1 AND l.settled_generation >= l.generation
ORDER BY o.settled_at, o.lead_id LIMIT $2`

	oldTrails = `SELECT o.lead_id, l.generation FROM outcomes o JOIN leads l ON l.lead_id = o.lead_id
WHERE NOT o.trail_expired AND o.settled_at < $1 AND l.settled_generation >= l.generation
ORDER BY o.settled_at, o.lead_id LIMIT $2`

	markTrailsExpired = `UPDATE outcomes SET trail_expired = TRUE WHERE lead_id IN {list $1}`
	markTrailsKept    = `UPDATE outcomes SET trail_expired = FALSE WHERE lead_id IN {list $1}`
)

// Expire deletes the leads whose outcome was settled before outcomesBefore, with
// outcome and trail, and the trails of the leads whose outcome was settled before
// trailsBefore: of each kind at most limit, the oldest first, so that a call takes
// a moment only. The zero time deletes none of its kind. While a call deletes as
// many as it may there can be more.
//
// The leads are those that [Ledger.Expirable] lists, in the same order, unless they
// changed meanwhile.
//
// A lead that is live, because it is being replayed, is left alone. A suppressed
// outcome expires like others; that the person is suppressed does not. What a lead
// cost stays, in its outcome after its trail and in [Ledger.Spent] after the lead.
func (l *Ledger) Expire(ctx context.Context, outcomesBefore, trailsBefore time.Time, limit int) (Expired, error) {
	if limit <= 0 || outcomesBefore.IsZero() && trailsBefore.IsZero() {
		return Expired{}, nil
	}
	var gone Expired
	wr := &write{}
	wr.run = func(ctx context.Context, s session) (err error) {
		gone = Expired{}
		if gone.Leads, err = expireLeads(ctx, s, outcomesBefore, limit); err != nil {
			return err
		}
		if gone.Trails, err = expireTrails(ctx, s, trailsBefore, limit); err != nil {
			return err
		}
		wr.erases = len(gone.Leads) > 0 || gone.Trails > 0
		return nil
	}
	if err := l.writer.do(ctx, wr); err != nil {
		return Expired{}, fmt.Errorf("expire leads: %w", err) // gone may still be written to
	}
	return gone, nil
}

// Expirable returns the leads that [Ledger.Expire] with the same time and limit will
// delete, in the order in which it does so, and deletes nothing. Who keeps something
// of leads elsewhere that has to go with them removes it between the two calls: if
// they die there, the leads are still here to be found again. Leads that change
// between the calls make that Expire deletes others than these; it says which.
func (l *Ledger) Expirable(ctx context.Context, outcomesBefore time.Time, limit int) ([]Ref, error) {
	if limit <= 0 || outcomesBefore.IsZero() {
		return nil, nil
	}
	refs, err := readAll(ctx, l.reader(), scanRef, oldOutcomes, outcomesBefore.UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("find leads that expire: %w", err)
	}
	return refs, nil
}

func expireLeads(ctx context.Context, s session, before time.Time, limit int) (refs []Ref, err error) {
	old, err := settledBefore(ctx, s, oldOutcomes, before, limit)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(old))
	for i, r := range old {
		ids[i] = r.LeadID
		refs = append(refs, Ref{LeadID: r.LeadID, Generation: r.generation})
	}
	_, _, _, err = deleteAll(ctx, s, ids)
	return refs, err
}

func expireTrails(ctx context.Context, s session, before time.Time, limit int) (n int, err error) {
	old, err := settledBefore(ctx, s, oldTrails, before, limit)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	ids := make([]string, len(old))
	for i, r := range old {
		ids[i] = r.LeadID
	}
	list, err := jsonText(ids)
	if err != nil {
		return 0, err
	}
	if err := s.exec(ctx, deleteTrails, list); err != nil {
		return 0, fmt.Errorf("delete trails: %w", err)
	}
	if err := s.exec(ctx, markTrailsExpired, list); err != nil {
		return 0, fmt.Errorf("delete trails: %w", err)
	}
	return len(old), nil
}

// settledBefore picks leads by a query and keeps them from changing. Those that
// changed between are left out: they are not the oldest any more.
func settledBefore(ctx context.Context, s session, query string, before time.Time, limit int) ([]*row, error) {
	if before.IsZero() {
		return nil, nil
	}
	refs, err := readAll(ctx, s, scanRef, query, before.UnixMilli(), limit)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	ids := make([]string, len(refs))
	for i, r := range refs {
		ids[i] = r.LeadID
	}
	rows, err := lockRows(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	var still []*row
	for _, id := range ids {
		if r := rows[id]; r != nil && r.SettledGeneration >= r.generation && !r.settled.IsZero() && r.settled.Before(before) {
			still = append(still, r)
		}
	}
	return still, nil
}
