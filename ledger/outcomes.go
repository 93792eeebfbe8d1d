package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"backstop/lead"
)

// This file reads outcomes.

// A Filter picks outcomes. The zero Filter picks all; what is set must all hold.
type Filter struct {
	Statuses []lead.Status
	Since    time.Time // settled at or after
	Source   string
}

// outcomePage is how many outcomes are in memory at once.
const outcomePage = 500

const (
	outcomeColumns = `l.lead_id, coalesce(o.first_settled_at, 0), l.request_id, l.lead, coalesce(o.status, ''), coalesce(o.reason, ''),
	coalesce(o.profile, '{}'), coalesce(o.missing, '[]'), coalesce(o.provenance, '{}'),
	l.accepted_at, CASE WHEN o.lead_id IS NULL THEN l.started_at ELSE o.started_at END, o.settled_at, l.credits`

	outcomeByID = `SELECT ` + outcomeColumns + ` FROM leads l LEFT JOIN outcomes o ON o.lead_id = l.lead_id WHERE l.lead_id = $1`

	// When a lead was first settled never changes, so an outcome that rises keeps its place.
	outcomesAfter = ` FROM outcomes o JOIN leads l ON l.lead_id = o.lead_id
WHERE (o.first_settled_at, o.lead_id) > ($1, $2) AND o.first_settled_at <= $3 AND o.settled_at >= $4`

	// The places of the first and the last outcome that were settled since.
	outcomeRange = `SELECT coalesce(min(first_settled_at), 0), coalesce(max(first_settled_at), -1) FROM outcomes WHERE settled_at >= $1`

	trailsByLead = `SELECT lead_id, attempt, provider, class, status, detail, at, ms, credits, conflicts FROM trail
WHERE lead_id IN {list $1} ORDER BY lead_id, n`
)

// storedOutcome is an outcome as it was read.
type storedOutcome struct {
	lead.Outcome
	firstSettled int64
	damaged      error // nil, or a *DamagedError
}

func scanOutcome(rows *sql.Rows) (storedOutcome, error) {
	var (
		o                                      = storedOutcome{Outcome: lead.Outcome{Trail: []lead.TrailEntry{}}}
		from                                   lead.Lead
		fromText, profile, missing, provenance string
		credits                                string
	)
	err := rows.Scan(&o.LeadID, &o.firstSettled, &o.RequestID, &fromText, &o.Status, &o.Reason, &profile, &missing, &provenance,
		stamp{&o.AcceptedAt}, stamp{&o.StartedAt}, stamp{&o.SettledAt}, &credits)
	if err == nil {
		err = cmp.Or(decode("lead", fromText, &from), decode("profile", profile, &o.Profile),
			decode("list of missing fields", missing, &o.Missing), decode("provenance", provenance, &o.Provenance),
			decode("credits", credits, &o.Credits))
	}
	o.Source, o.SourceID = from.Source, from.SourceID
	o.damaged, err = damaged(rows, o.LeadID, err)
	return o, err
}

// Outcomes goes over the outcomes of settled leads, with their trails, in the order in
// which the leads were first settled (and of their IDs within a millisecond). Each lead
// that had an outcome at the beginning comes once, unless it is erased meanwhile or its
// new outcome does not fit the filter; leads that are settled for the first time
// meanwhile do not come, but for those of a moment ago. An outcome that rises meanwhile
// keeps its place, and comes as it was when its page was read.
//
// Outcomes are read a page at a time, so that any number of them takes little memory, and
// no transaction is open while the caller handles them: it may take as long as it likes.
//
// An outcome that is damaged is yielded with a [*DamagedError] and what can be read of
// it, and the next ones follow. Any other error is the last thing that is yielded.
func (l *Ledger) Outcomes(ctx context.Context, f Filter) iter.Seq2[lead.Outcome, error] {
	return func(yield func(lead.Outcome, error) bool) {
		query, args, err := l.selection(ctx, f)
		query = "SELECT " + outcomeColumns + query + fmt.Sprintf(" ORDER BY o.first_settled_at, o.lead_id LIMIT %d", outcomePage)
		for more := true; more && err == nil; {
			var page []storedOutcome
			page, err = l.outcomes(ctx, query, args...)
			for _, o := range page {
				if !yield(o.Outcome, o.damaged) {
					return
				}
				args[0], args[1] = o.firstSettled, o.LeadID
			}
			more = len(page) == outcomePage
		}
		if err != nil {
			yield(lead.Outcome{}, fmt.Errorf("read outcomes: %w", err))
		}
	}
}

// CountOutcomes returns how many outcomes the filter picks now.
func (l *Ledger) CountOutcomes(ctx context.Context, f Filter) (n int, err error) {
	query, args, err := l.selection(ctx, f)
	if err == nil {
		n, err = readOne(ctx, l.reader(), scanOne[int], "SELECT count(*)"+query, args...)
	}
	if err != nil {
		return 0, fmt.Errorf("count outcomes: %w", err)
	}
	return n, nil
}

// selection is the part of a query that picks the filtered outcomes that are there now.
// Its first two arguments are the place after which they are.
func (l *Ledger) selection(ctx context.Context, f Filter) (query string, args []any, err error) {
	var since, first, last int64
	if !f.Since.IsZero() {
		since = f.Since.UnixMilli()
	}
	_, err = readOne(ctx, l.reader(), func(r *sql.Rows) (struct{}, error) { return struct{}{}, r.Scan(&first, &last) }, outcomeRange, since)
	query, args = outcomesAfter, []any{first, "", last, since}
	if len(f.Statuses) > 0 {
		list, jsonErr := jsonText(f.Statuses)
		err = errors.Join(err, jsonErr)
		args = append(args, list)
		query += " AND o.status IN {list $" + strconv.Itoa(len(args)) + "}"
	}
	if f.Source != "" {
		args = append(args, f.Source)
		query += " AND l.source = $" + strconv.Itoa(len(args))
	}
	return query, args, err
}

// outcomes reads outcomes with their trails, all of one state of the ledger.
func (l *Ledger) outcomes(ctx context.Context, query string, args ...any) (found []storedOutcome, err error) {
	err = l.snapshot(ctx, func(s session) error {
		if found, err = readAll(ctx, s, scanOutcome, query, args...); err != nil || len(found) == 0 {
			return err
		}
		return addTrails(ctx, s, found)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// addTrails reads the trails of the outcomes.
func addTrails(ctx context.Context, s session, outcomes []storedOutcome) error {
	at := make(map[string]*storedOutcome, len(outcomes))
	ids := make([]string, len(outcomes))
	for i := range outcomes {
		ids[i] = outcomes[i].LeadID
		at[ids[i]] = &outcomes[i]
	}
	list, err := jsonText(ids)
	if err != nil {
		return err
	}
	return s.each(ctx, func(rows *sql.Rows) error {
		var (
			id, conflicts string
			e             lead.TrailEntry
		)
		err := rows.Scan(&id, &e.Attempt, &e.Provider, &e.Class, &e.Status, &e.Detail, stamp{&e.At}, &e.Millis, &e.Credits, &conflicts)
		if err == nil && conflicts != "" {
			err = decode("conflicts", conflicts, &e.Conflicts)
		}
		damage, err := damaged(rows, id, err)
		if o := at[id]; o != nil {
			o.Trail = append(o.Trail, e)
			o.damaged = cmp.Or(o.damaged, damage)
		}
		return err
	}, trailsByLead, list)
}

// Outcome returns a lead's outcome, or with Status "" what is known so far: when it was
// accepted and started, and its trail. The error for a lead that is not there is
// [ErrNotFound], and for a damaged one a [*DamagedError], with what can be read of it.
func (l *Ledger) Outcome(ctx context.Context, leadID string) (lead.Outcome, error) {
	found, err := l.outcomes(ctx, outcomeByID, leadID)
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	found = append(found, storedOutcome{})
	if err = cmp.Or(err, found[0].damaged); err != nil {
		err = fmt.Errorf("read outcome of %s: %w", leadID, err)
	}
	return found[0].Outcome, err
}
