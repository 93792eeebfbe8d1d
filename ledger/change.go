package ledger

import (
	"context"
	"fmt"

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
	found  []string        // those of all the addresses that it says providers named
	alone  bool            // nobody else may write meanwhile
	edit   func(*row) fate // may be called more than once, each time on a fresh row

	// Set when it was made. They are the change's own: its companions succeed.
	err        error    // nil, ErrNotFound or ErrStale
	repeated   bool     // all of it had been written before
	erases     bool     // it found out that the person asked not to be processed,
	suppresses []string // known by these hashes,
	others     []Record // with these other leads, as they stood
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
	sightings   []sightingRow   // to write
	sighted     bool            // somebody who asked not to be processed was named for the lead

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

const (
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
	r.sight(c)
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
		seen     []sightingRow
		cleared  []string
	)
	for _, r := range changed {
		trail = append(trail, r.added...)
		if r.outcome != nil {
			outcomes = append(outcomes, r.outcome)
		}
		if r.trailExpired && len(r.added) > 0 {
			revived = append(revived, r.LeadID)
		}
		seen = append(seen, r.sightings...)
		if !r.keepsProgress() {
			cleared = append(cleared, r.LeadID)
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
	if err := writeRows(ctx, s, insertSightings, seen); err != nil {
		return fmt.Errorf("note sightings: %w", err)
	}
	if err := writeRows(ctx, s, clearProgress, cleared); err != nil {
		return fmt.Errorf("clear progress: %w", err)
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

// start notes when the work on the lead's generation began, unless that is known.
func (r *row) start(at lead.Time) {
	if r.started.IsZero() {
		r.started, r.StartedAt = at, millis(at)
	}
}
