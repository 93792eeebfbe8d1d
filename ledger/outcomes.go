package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"backstop/lead"
)

// A Filter picks outcomes. The zero Filter picks all; what is set must all hold.
type Filter struct {
	Statuses []lead.Status
	Since    time.Time // settled at or after
	Source   string
	LeadIDs  []string
}

// outcomePage is how many outcomes are in memory at once.
const outcomePage = 500

const (
	outcomeColumns = `l.lead_id, l.request_id, l.lead, coalesce(o.status, ''), coalesce(o.reason, ''),
	coalesce(o.profile, '{}'), coalesce(o.missing, '[]'), coalesce(o.provenance, '{}'),
	l.accepted_at, CASE WHEN o.lead_id IS NULL THEN l.started_at ELSE o.started_at END, o.settled_at, l.credits`

	outcomeByID = `SELECT ` + outcomeColumns + ` FROM leads l LEFT JOIN outcomes o ON o.lead_id = l.lead_id WHERE l.lead_id = $1`

	outcomesAfter = `SELECT ` + outcomeColumns + ` FROM outcomes o JOIN leads l ON l.lead_id = o.lead_id
WHERE (o.settled_at, o.lead_id) > ($1, $2)`

	trailsByLead = `SELECT lead_id, attempt, provider, class, status, detail, at, ms, credits, conflicts FROM trail
WHERE lead_id IN {list $1} ORDER BY lead_id, n`
)

func scanOutcome(rows *sql.Rows) (lead.Outcome, error) {
	var (
		o                                      = lead.Outcome{Trail: []lead.TrailEntry{}}
		from                                   lead.Lead
		fromText, profile, missing, provenance string
		credits                                string
	)
	err := rows.Scan(&o.LeadID, &o.RequestID, &fromText, &o.Status, &o.Reason, &profile, &missing, &provenance,
		stamp{&o.AcceptedAt}, stamp{&o.StartedAt}, stamp{&o.SettledAt}, &credits)
	if err != nil {
		return o, err
	}
	err = errors.Join(decode("lead", fromText, &from), decode("profile", profile, &o.Profile),
		decode("list of missing fields", missing, &o.Missing), decode("provenance", provenance, &o.Provenance),
		decode("credits", credits, &o.Credits))
	o.Source, o.SourceID = from.Source, from.SourceID
	return o, err
}

// Outcomes goes over the outcomes of settled leads, with their trails, in the
// order of settled_at and lead_id. All come from one state of the ledger, that of
// the beginning, so that none is lost or comes twice while others are settled;
// and a page at a time, so that any number of them takes little memory. An error
// is the last thing that is yielded. Do not take longer over it than needed: the
// database keeps that state alive meanwhile.
func (l *Ledger) Outcomes(ctx context.Context, f Filter) iter.Seq2[lead.Outcome, error] {
	return func(yield func(lead.Outcome, error) bool) {
		stopped := false
		err := l.snapshot(ctx, func(s session) error {
			next, err := f.pages()
			if err != nil {
				return err
			}
			for {
				page, err := next(ctx, s)
				if err != nil || len(page) == 0 {
					return err
				}
				for _, o := range page {
					if !yield(o, nil) {
						stopped = true
						return nil
					}
				}
			}
		})
		if err != nil && !stopped {
			yield(lead.Outcome{}, fmt.Errorf("read outcomes: %w", err))
		}
	}
}

// pages returns a function that reads the filtered outcomes page by page.
func (f Filter) pages() (func(context.Context, session) ([]lead.Outcome, error), error) {
	query, args, err := f.query()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s session) ([]lead.Outcome, error) {
		page, err := readAll(ctx, s, scanOutcome, query, args...)
		if err != nil || len(page) == 0 {
			return nil, err
		}
		last := page[len(page)-1]
		args[0], args[1] = last.SettledAt.Millis(), last.LeadID
		return page, addTrails(ctx, s, page)
	}, nil
}

// query writes the query of one page. Its first two arguments are the place of
// the last outcome before the page.
func (f Filter) query() (query string, args []any, err error) {
	var q strings.Builder
	q.WriteString(outcomesAfter)
	args = []any{int64(-1), ""}
	if !f.Since.IsZero() {
		args[0] = f.Since.UnixMilli() - 1
		args[1] = "\U0010FFFF" // after every lead ID of the millisecond before
	}
	list := func(column string, values any) error {
		text, err := jsonText(values)
		args = append(args, text)
		q.WriteString(" AND " + column + " IN {list $" + strconv.Itoa(len(args)) + "}")
		return err
	}
	if len(f.Statuses) > 0 {
		err = errors.Join(err, list("o.status", f.Statuses))
	}
	if len(f.LeadIDs) > 0 {
		err = errors.Join(err, list("o.lead_id", f.LeadIDs))
	}
	if f.Source != "" {
		args = append(args, f.Source)
		q.WriteString(" AND l.source = $" + strconv.Itoa(len(args)))
	}
	fmt.Fprintf(&q, " ORDER BY o.settled_at, o.lead_id LIMIT %d", outcomePage)
	return q.String(), args, err
}

// addTrails reads the trails of the outcomes.
func addTrails(ctx context.Context, s session, outcomes []lead.Outcome) error {
	at := make(map[string]*lead.Outcome, len(outcomes))
	ids := make([]string, len(outcomes))
	for i := range outcomes {
		ids[i] = outcomes[i].LeadID
		at[ids[i]] = &outcomes[i]
	}
	list, err := jsonText(ids)
	if err != nil {
		return err
	}
	_, err = readAll(ctx, s, func(rows *sql.Rows) (struct{}, error) {
		var (
			id, conflicts string
			e             lead.TrailEntry
		)
		err := rows.Scan(&id, &e.Attempt, &e.Provider, &e.Class, &e.Status, &e.Detail, stamp{&e.At}, &e.Millis, &e.Credits, &conflicts)
		if err == nil && conflicts != "" {
			err = decode("conflicts", conflicts, &e.Conflicts)
		}
		if err == nil {
			at[id].Trail = append(at[id].Trail, e)
		}
		return struct{}{}, err
	}, trailsByLead, list)
	return err
}

// Outcome returns a lead's outcome, or with Status "" what is known so far: when
// it was accepted and started, and its trail. A lead that is not there is
// [ErrNotFound].
func (l *Ledger) Outcome(ctx context.Context, leadID string) (lead.Outcome, error) {
	var found []lead.Outcome
	err := l.snapshot(ctx, func(s session) error {
		o, err := readOne(ctx, s, scanOutcome, outcomeByID, leadID)
		if err != nil {
			return err
		}
		found = []lead.Outcome{o}
		return addTrails(ctx, s, found)
	})
	if err != nil {
		return lead.Outcome{}, fmt.Errorf("read outcome of %s: %w", leadID, err)
	}
	return found[0], nil
}
