package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"

	"backstop/lead"
)

// A Record is a lead as it stands.
type Record struct {
	LeadID            string
	RequestID         string
	Generation        int
	SettledGeneration int
	Lead              lead.Lead
	Status            lead.Status // "" while there is no outcome
	Progress          []byte      // what the last attempt left for the next one
	AcceptedAt        lead.Time
	EnqueuedAt        lead.Time
	StartedAt         lead.Time // of the current generation
	SettledAt         lead.Time // of the outcome
}

// Live reports whether the lead's current generation is not settled yet.
func (r Record) Live() bool { return r.SettledGeneration < r.Generation }

const (
	selectRecords = `SELECT l.lead_id, l.request_id, l.generation, l.settled_generation, l.lead, coalesce(o.status, ''), l.progress,
	l.accepted_at, l.enqueued_at, l.started_at, o.settled_at
FROM leads l LEFT JOIN outcomes o ON o.lead_id = l.lead_id
`
	recordByID = selectRecords + `WHERE l.lead_id = $1`

	recordsByKey = selectRecords + `WHERE l.lead_id = $1 OR l.request_id = $1 OR l.email_key = $2
ORDER BY l.accepted_at DESC, l.lead_id`

	liveRecords = selectRecords + `WHERE l.settled_generation < l.generation AND l.lead_id > $1 AND l.accepted_at < $2
ORDER BY l.lead_id LIMIT $3`
)

func scanRecord(rows *sql.Rows) (Record, error) {
	var (
		r    Record
		text string
	)
	err := rows.Scan(&r.LeadID, &r.RequestID, &r.Generation, &r.SettledGeneration, &text, &r.Status, &r.Progress,
		stamp{&r.AcceptedAt}, stamp{&r.EnqueuedAt}, stamp{&r.StartedAt}, stamp{&r.SettledAt})
	if err != nil {
		return r, err
	}
	return r, decode("lead", text, &r.Lead)
}

// Get returns a lead, or [ErrNotFound].
func (l *Ledger) Get(ctx context.Context, leadID string) (Record, error) {
	r, err := readOne(ctx, l.reader(), scanRecord, recordByID, leadID)
	if err != nil {
		return Record{}, fmt.Errorf("get lead %s: %w", leadID, err)
	}
	return r, nil
}

// Find returns the leads that key names, the newest first: a lead ID, a request
// ID, or an email address in any spelling. With none the error is [ErrNotFound].
func (l *Ledger) Find(ctx context.Context, key string) ([]Record, error) {
	key = strings.TrimSpace(key)
	records, err := readAll(ctx, l.reader(), scanRecord, recordsByKey, key, emailKey(key))
	if err == nil && len(records) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("find leads: %w", err) // not the key: it may be an address
	}
	return records, nil
}

// emailKey is the key of an address in any spelling, or nil, which no lead
// matches, when it is none.
func emailKey(address string) any {
	email, err := lead.NormalizeEmail(address)
	if err != nil || email == "" {
		return nil // a lead ID or request ID, which are no addresses
	}
	return lead.EmailKey(email)
}

// LivePage returns up to limit live leads in the order of their IDs: those after
// the ID after, "" for the first page, that were accepted before acceptedBefore,
// or all with the zero time. Its cost depends on the live leads only.
func (l *Ledger) LivePage(ctx context.Context, after string, acceptedBefore time.Time, limit int) ([]Record, error) {
	before := int64(math.MaxInt64)
	if !acceptedBefore.IsZero() {
		before = acceptedBefore.UnixMilli()
	}
	page, err := readAll(ctx, l.reader(), scanRecord, liveRecords, after, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list live leads: %w", err)
	}
	return page, nil
}
