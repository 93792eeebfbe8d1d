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
	Suppressed        bool        // the person asked not to be processed: settle it so, and ask nobody about them
	Status            lead.Status // "" while there is no outcome
	Progress          []byte      // what the last attempt left for the next one
	Version           int64       // rises with every Record, Reopen and fenced Settle; at least 1
	AcceptedAt        lead.Time
	EnqueuedAt        lead.Time
	StartedAt         lead.Time // of the current generation
	SettledAt         lead.Time // of the outcome
}

// Live reports whether the lead's current generation is not settled yet.
func (r Record) Live() bool { return r.SettledGeneration < r.Generation }

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

func scanRecord(rows *sql.Rows) (Record, error) {
	r, text, err := scanStored(rows)
	if err != nil {
		return r, err
	}
	return r, decode("lead", text, &r.Lead)
}

// scanErased is scanRecord for a lead that is erased, also when it is damaged.
func scanErased(rows *sql.Rows) (Record, error) {
	r, text, err := scanStored(rows)
	if err == nil && decode("lead", text, &r.Lead) != nil {
		r.Lead = lead.Lead{}
	}
	return r, err
}

// scanStored reads a record but for its lead, which it returns as it is stored.
func scanStored(rows *sql.Rows) (r Record, text string, err error) {
	err = rows.Scan(&r.LeadID, &r.RequestID, &r.Generation, &r.SettledGeneration, &text, &r.Suppressed, &r.Status, &r.Progress, &r.Version,
		stamp{&r.AcceptedAt}, stamp{&r.EnqueuedAt}, stamp{&r.StartedAt}, stamp{&r.SettledAt})
	return r, text, err
}

// Get returns a lead, or [ErrNotFound].
func (l *Ledger) Get(ctx context.Context, leadID string) (Record, error) {
	r, err := readOne(ctx, l.reader(), scanRecord, recordByID, leadID)
	if err != nil {
		return Record{}, fmt.Errorf("get lead %s: %w", leadID, err)
	}
	return r, nil
}

// Records returns those of the leads that are there, in the order of their IDs.
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

// Find returns the leads that key names, the newest first: a lead ID, a request
// ID, or an email address in any spelling. With none the error is [ErrNotFound].
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
	return l.page(ctx, "list live leads", liveRecords, after, acceptedBefore, limit)
}

// UnqueuedPage is LivePage for those of the live leads that nobody has marked as
// enqueued: their enqueue died half-way, or is under way. Its cost depends on these
// only.
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

// refRow is a ref with its place in a list.
type refRow struct {
	N          int    `json:"n"`
	LeadID     string `json:"lead_id"`
	Generation int    `json:"generation"`
}

const unsettledRefs = `SELECT r.n FROM {rows $1: n bigint, lead_id text, generation bigint} AS r
JOIN leads l ON l.lead_id = r.lead_id WHERE l.settled_generation < r.generation`

// Settled reports for each ref whether its generation, or a later one, is settled.
// A lead that is not there counts as settled: nothing is owed to it.
func (l *Ledger) Settled(ctx context.Context, refs []Ref) ([]bool, error) {
	rows := make([]refRow, len(refs))
	settled := make([]bool, len(refs))
	for i, r := range refs {
		rows[i] = refRow{N: i, LeadID: plain(r.LeadID), Generation: r.Generation}
		settled[i] = true
	}
	table, err := jsonText(rows)
	if err != nil {
		return nil, fmt.Errorf("look which leads are settled: %w", err)
	}
	unsettled, err := readAll(ctx, l.reader(), func(r *sql.Rows) (n int, err error) { return n, r.Scan(&n) }, unsettledRefs, table)
	if err != nil {
		return nil, fmt.Errorf("look which leads are settled: %w", err)
	}
	for _, i := range unsettled {
		settled[i] = false
	}
	return settled, nil
}
