package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"

	"backstop/lead"
)

// This file reads leads.

// A Record is a lead as it is stored.
type Record struct {
	LeadID            string
	RequestID         string
	Generation        int
	SettledGeneration int
	Lead              lead.Lead
	Suppressed        bool        // the person opted out: settle it so, and ask nobody about them
	Status            lead.Status // "" while there is no outcome
	Progress          []byte      // what the last attempt left for the next one
	Version           int64       // rises with every SaveAttempt, Reopen and fenced Settle; at least 1
	AcceptedAt        lead.Time
	EnqueuedAt        lead.Time
	StartedAt         lead.Time // of the current generation
	SettledAt         lead.Time // of the outcome

	// Damaged is nil, or a [*DamagedError]: the lead cannot be decoded. Lead is zero then,
	// and so may be what else cannot be read. The lead can be settled all the same.
	Damaged error
}

// Live reports whether the lead's current generation is not settled yet.
func (r Record) Live() bool { return r.SettledGeneration < r.Generation }

// Run is the lead's current run.
func (r Record) Run() lead.Run { return lead.Run{LeadID: r.LeadID, Generation: r.Generation} }

const (
	// suppressed is a condition on a lead l and its outcome o, if any.
	suppressed = `EXISTS (SELECT 1 FROM suppressions s WHERE s.person IN (l.person, o.person))`

	selectRecords = `SELECT l.lead_id, l.request_id, l.generation, l.settled_generation, l.lead, ` + suppressed + `, coalesce(o.status, ''), l.progress, l.version,
	l.accepted_at, l.enqueued_at, l.started_at, o.settled_at
FROM leads l LEFT JOIN outcomes o ON o.lead_id = l.lead_id
`
	recordByID = selectRecords + `WHERE l.lead_id = $1`

	recordsByID = selectRecords + `WHERE l.lead_id IN {list $1} ORDER BY l.lead_id`

	recordsByKey = selectRecords + `WHERE l.lead_id = $1 OR l.request_id = $1 OR (l.person = $2 AND l.email_key = $3)
ORDER BY l.accepted_at DESC, l.lead_id`

	liveRecords = selectRecords + `WHERE l.settled_generation < l.generation AND l.lead_id > $1 AND l.accepted_at < $2
ORDER BY l.lead_id LIMIT $3`

	unqueuedRecords = selectRecords + `WHERE l.enqueued_at IS NULL AND l.settled_generation < l.generation
	AND l.lead_id > $1 AND l.accepted_at < $2
ORDER BY l.lead_id LIMIT $3`
)

func scanRecord(rows *sql.Rows) (r Record, err error) {
	var text string
	err = rows.Scan(&r.LeadID, &r.RequestID, &r.Generation, &r.SettledGeneration, &text, &r.Suppressed, &r.Status, &r.Progress, &r.Version,
		stamp{&r.AcceptedAt}, stamp{&r.EnqueuedAt}, stamp{&r.StartedAt}, stamp{&r.SettledAt})
	if err == nil {
		err = decode("lead", text, &r.Lead)
	}
	if r.Damaged, err = damaged(rows, r.LeadID, err); r.Damaged != nil {
		r.Lead = lead.Lead{}
	}
	return r, err
}

// Get returns a lead. The error for one that is not there is [ErrNotFound], and for a
// damaged one a [*DamagedError], with what can be read of it.
func (l *Ledger) Get(ctx context.Context, leadID string) (Record, error) {
	r, err := readOne(ctx, l.reader(), scanRecord, recordByID, leadID)
	if err = cmp.Or(err, r.Damaged); err != nil {
		return r, fmt.Errorf("get lead %s: %w", leadID, err)
	}
	return r, nil
}

// Records returns those of the leads that are there, in the order of their IDs, with
// damaged ones among them ([Record.Damaged]).
func (l *Ledger) Records(ctx context.Context, leadIDs []string) ([]Record, error) {
	if len(leadIDs) == 0 {
		return nil, nil
	}
	list, err := jsonText(leadIDs)
	if err != nil {
		return nil, fmt.Errorf("get leads: %w", err)
	}
	records, err := readAll(ctx, l.reader(), scanRecord, recordsByID, list)
	if err != nil {
		return nil, fmt.Errorf("get leads: %w", err)
	}
	return records, nil
}

// Find returns the leads that key names, the newest first: a lead ID, a request ID, or
// an email address in any spelling. Damaged ones are among them ([Record.Damaged]). If
// there are none the error is [ErrNotFound].
func (l *Ledger) Find(ctx context.Context, key string) ([]Record, error) {
	key = strings.TrimSpace(key)
	records, err := readAll(ctx, l.reader(), scanRecord, recordsByKey, key, l.persons.address(key), emailKey(key))
	if err == nil && len(records) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("find leads: %w", err) // not the key: it may be an address
	}
	return records, nil
}

// emailKey is the key of an address in any spelling, or nil, which matches no lead, if
// it is not an address.
func emailKey(address string) any {
	email, err := lead.NormalizeEmail(address)
	if err != nil || email == "" {
		return nil // a lead ID or request ID, which are no addresses
	}
	return lead.EmailKey(email)
}

// LivePage returns up to limit live leads in the order of their IDs: those after
// the ID after, "" for the first page, that were accepted before acceptedBefore,
// or all with the zero time. Damaged ones are among them ([Record.Damaged]). Its cost
// depends on the live leads only.
func (l *Ledger) LivePage(ctx context.Context, after string, acceptedBefore time.Time, limit int) ([]Record, error) {
	return l.page(ctx, "list live leads", liveRecords, after, acceptedBefore, limit)
}

// UnqueuedPage is LivePage for those live leads that nobody has marked as enqueued:
// whoever accepted them died half-way, or is still at it. Its cost depends on these only.
func (l *Ledger) UnqueuedPage(ctx context.Context, after string, acceptedBefore time.Time, limit int) ([]Record, error) {
	return l.page(ctx, "list leads that are not queued", unqueuedRecords, after, acceptedBefore, limit)
}

func (l *Ledger) page(ctx context.Context, what, query, after string, acceptedBefore time.Time, limit int) ([]Record, error) {
	before := int64(math.MaxInt64)
	if !acceptedBefore.IsZero() {
		before = acceptedBefore.UnixMilli()
	}
	page, err := readAll(ctx, l.reader(), scanRecord, query, after, before, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return page, nil
}
