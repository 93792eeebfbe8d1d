package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"maps"

	"backstop/lead"
)

// A change is what one Record or Settle does to a lead. Changes of many callers
// are made together: their leads are read, changed in memory one change after the
// other, and written back, with one query for each table and not for each lead.
type change struct {
	leadID string
	at     lead.Time
	trail  []lead.TrailEntry
	person string          // a settlement's: that of the address that was found
	alone  bool            // nobody else may write meanwhile
	edit   func(*row) fate // may be called more than once, each time on a fresh row

	// Set when it was made. They are the change's own: its companions succeed.
	err        error    // nil, ErrNotFound or ErrStale
	repeated   bool     // all of it had been written before
	erases     bool     // it found out that the person asked not to be processed,
	suppresses []string // known by these hashes,
	others     []Ref    // with these other leads
}

// row is a lead as a transaction read and locked it.
type row struct {
	LeadID            string   `json:"lead_id"`
	SettledGeneration int      `json:"settled_generation"`
	Retries           int      `json:"retries"`
	TrailLength       int      `json:"trail_length"`
	StartedAt         *int64   `json:"started_at"`
	Progress          hexBytes `json:"progress"` // nil leaves the stored one
	Version           int64    `json:"version"`
	LastWrite         string   `json:"last_write"` // of those that are fenced
	Credits           *string  `json:"credits"`    // nil leaves the stored ones

	generation  int
	acceptedAt  int64
	started     lead.Time
	added       []trailRow         // to the trail, in this transaction
	creditsText string             // as stored
	credits     map[string]float64 // with what was added; nil while nothing was
	person      string
	suppressed  map[string]bool // of the persons that this transaction is about; shared by its rows
	erased      bool            // to be redacted at the end of the transaction

	// The current outcome; Status is "" while there is none.
	status        lead.Status
	score         int
	firstSettled  lead.Time
	settled       lead.Time
	outcomePerson string
	trailExpired  bool
	outcome       *outcomeRow // the outcome to write, if it changes
}

// outcomeRow is a row of the table outcomes.
type outcomeRow struct {
	LeadID         string      `json:"lead_id"`
	Status         lead.Status `json:"status"`
	Score          int         `json:"score"`
	Reason         string      `json:"reason"`
	Profile        string      `json:"profile"`
	Missing        string      `json:"missing"`
	Provenance     string      `json:"provenance"`
	Person         string      `json:"person"`
	Retries        int         `json:"retries"`
	Fallback       bool        `json:"fallback"`
	AcceptedAt     int64       `json:"accepted_at"`
	StartedAt      *int64      `json:"started_at"`
	FirstSettledAt *int64      `json:"first_settled_at"`
	SettledAt      *int64      `json:"settled_at"`
}

// Leads are locked in the order of their IDs, so that two processes never wait
// for each other in a circle. The outcomes are read after the lock is held:
// PostgreSQL re-reads only locked rows, and a join would give a stale score.
const (
	lockLeads = `SELECT lead_id, generation, settled_generation, retries, trail_length, accepted_at, started_at, version, last_write,
	credits, coalesce(person, ''), EXISTS (SELECT 1 FROM suppressions s WHERE s.person = leads.person)
FROM leads WHERE lead_id IN {list $1} ORDER BY lead_id {for update}`

	readScores = `SELECT lead_id, status, score, first_settled_at, settled_at, trail_expired, coalesce(person, ''),
	EXISTS (SELECT 1 FROM suppressions s WHERE s.person = outcomes.person)
FROM outcomes WHERE lead_id IN {list $1}`

	updateLeads = `UPDATE leads SET settled_generation = r.settled_generation, retries = r.retries,
	trail_length = r.trail_length, started_at = r.started_at, progress = coalesce(r.progress, leads.progress),
	version = r.version, last_write = r.last_write, credits = coalesce(r.credits, leads.credits)
FROM {rows $1: lead_id text, settled_generation bigint, retries bigint, trail_length bigint, started_at bigint, progress bytes,
	version bigint, last_write text, credits text} AS r
WHERE leads.lead_id = r.lead_id`

	upsertOutcomes = `INSERT INTO outcomes (lead_id, status, score, reason, profile, missing, provenance, person, retries, fallback,
	accepted_at, started_at, first_settled_at, settled_at)
SELECT lead_id, status, score, reason, profile, missing, provenance, person, retries, fallback,
	accepted_at, started_at, first_settled_at, settled_at
FROM {rows $1: lead_id text, status text, score bigint, reason text, profile text, missing text, provenance text, person text, retries bigint,
	fallback boolean, accepted_at bigint, started_at bigint, first_settled_at bigint, settled_at bigint} AS r
WHERE true
ON CONFLICT (lead_id) DO UPDATE SET status = excluded.status, score = excluded.score, reason = excluded.reason,
	profile = excluded.profile, missing = excluded.missing, provenance = excluded.provenance, person = excluded.person,
	retries = excluded.retries, fallback = excluded.fallback, started_at = excluded.started_at, settled_at = excluded.settled_at
WHERE excluded.score > outcomes.score`
)

// apply makes the changes in their order.
func apply(ctx context.Context, s session, changes []*change) error {
	if len(changes) == 0 {
		return nil
	}
	rows, err := lockChanged(ctx, s, changes)
	if err != nil {
		return err
	}
	var (
		changed  []*row
		seen     = map[string]bool{}
		spending = map[spendingRow]float64{}
	)
	for _, c := range changes {
		r := rows[c.leadID]
		if r == nil {
			c.err = ErrNotFound
			continue
		}
		if err := r.change(ctx, s, c, spending); err != nil {
			return err
		}
		if !seen[c.leadID] {
			seen[c.leadID] = true
			changed = append(changed, r)
		}
	}
	if err := writeChanged(ctx, s, changed); err != nil {
		return err
	}
	for _, c := range changes {
		if c.erases {
			if err := c.redact(ctx, s); err != nil {
				return err
			}
		}
	}
	// The last thing, because everybody writes to these few rows.
	if err := writeSpending(ctx, s, spending); err != nil {
		return fmt.Errorf("add up spending: %w", err)
	}
	return nil
}

// change makes one change to the row.
func (r *row) change(ctx context.Context, s session, c *change, spending map[spendingRow]float64) error {
	c.erases, c.suppresses, c.others = false, nil, nil
	f := c.edit(r)
	c.err, c.repeated = nil, f == repeated
	if f == stale {
		c.err = ErrStale
	}
	before := len(r.added)
	if err := r.extend(ctx, s, c, f); err != nil {
		return err
	}
	return r.charge(r.added[before:], c.at, spending)
}

// writeChanged writes the rows with all that was added to them.
func writeChanged(ctx context.Context, s session, changed []*row) error {
	var (
		trail    []trailRow
		outcomes []*outcomeRow
		revived  []string
	)
	for _, r := range changed {
		trail = append(trail, r.added...)
		if r.outcome != nil {
			outcomes = append(outcomes, r.outcome)
		}
		if r.trailExpired && len(r.added) > 0 {
			revived = append(revived, r.LeadID)
		}
	}
	if err := writeRows(ctx, s, updateLeads, changed); err != nil {
		return fmt.Errorf("update leads: %w", err)
	}
	if err := writeRows(ctx, s, insertTrail, trail); err != nil {
		return fmt.Errorf("extend trails: %w", err)
	}
	if err := writeRows(ctx, s, upsertOutcomes, outcomes); err != nil {
		return fmt.Errorf("write outcomes: %w", err)
	}
	if err := writeRows(ctx, s, markTrailsKept, revived); err != nil {
		return fmt.Errorf("mark new trails: %w", err)
	}
	return nil
}

// writeRows runs a query whose one parameter is a table.
func writeRows[T any](ctx context.Context, s session, query string, rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	table, err := jsonText(rows)
	if err != nil {
		return err
	}
	return s.exec(ctx, query, table)
}

// lockChanged locks the leads of the changes, and looks which of the addresses that
// were found are those of people who asked not to be processed.
func lockChanged(ctx context.Context, s session, changes []*change) (map[string]*row, error) {
	ids := make([]string, len(changes))
	for i, c := range changes {
		ids[i] = c.leadID
	}
	rows, err := lockRows(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, c := range changes {
		if r := rows[c.leadID]; r != nil && c.person != "" && c.person != r.person {
			found = append(found, c.person)
		}
	}
	suppressed, err := suppressedAmong(ctx, s, found)
	for _, r := range rows {
		maps.Copy(r.suppressed, suppressed)
	}
	return rows, err
}

// lockRows reads leads, with their outcomes, and keeps them from changing until
// the transaction ends.
func lockRows(ctx context.Context, s session, ids []string) (map[string]*row, error) {
	list, err := jsonText(ids)
	if err != nil {
		return nil, err
	}
	rows, suppressed := map[string]*row{}, map[string]bool{}
	_, err = readAll(ctx, s, func(sr *sql.Rows) (struct{}, error) {
		var (
			r   = row{suppressed: suppressed}
			own bool
		)
		err := sr.Scan(&r.LeadID, &r.generation, &r.SettledGeneration, &r.Retries, &r.TrailLength, &r.acceptedAt,
			stamp{&r.started}, &r.Version, &r.LastWrite, &r.creditsText, &r.person, &own)
		if own {
			suppressed[r.person] = true
		}
		r.StartedAt = millis(r.started)
		rows[r.LeadID] = &r
		return struct{}{}, err
	}, lockLeads, list)
	if err != nil {
		return nil, fmt.Errorf("lock leads: %w", err)
	}
	_, err = readAll(ctx, s, func(sr *sql.Rows) (struct{}, error) {
		var (
			id                    string
			status                lead.Status
			score                 int
			firstSettled, settled lead.Time
			person                string
			expired, away         bool
		)
		err := sr.Scan(&id, &status, &score, stamp{&firstSettled}, stamp{&settled}, &expired, &person, &away)
		if away {
			suppressed[person] = true
		}
		if r := rows[id]; r != nil {
			r.status, r.score, r.firstSettled, r.settled, r.outcomePerson, r.trailExpired = status, score, firstSettled, settled, person, expired
		}
		return struct{}{}, err
	}, readScores, list)
	if err != nil {
		return nil, fmt.Errorf("read outcomes: %w", err)
	}
	return rows, nil
}

// start notes when the work on the lead's generation began, unless that is known.
func (r *row) start(at lead.Time) {
	if r.started.IsZero() {
		r.started, r.StartedAt = at, millis(at)
	}
}
