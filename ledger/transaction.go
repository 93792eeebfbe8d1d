package ledger

import (
	"context"
	"fmt"

	"backstop/lead"
)

// This file makes the changes of a group in one transaction (step 3 in doc.go): their
// leads are read, edited in memory one change after the other, and written back, with
// one query for each table and not for each lead.

// A change is what one call of [Ledger.SaveAttempt] or [Ledger.Settle] does to a lead.
type change struct {
	leadID    string
	trail     []lead.TrailEntry
	person    string   // a settlement's: that of the address that was found
	mentioned []string // those of all the addresses that it says providers named
	alone     bool     // nobody else may write meanwhile
	fence     fence
	editor

	// Set when it is made. They are the change's own: others of its group succeed.
	at         lead.Time
	err        error    // nil, ErrNotFound or ErrStale
	repeated   bool     // all of it had been written before
	erases     bool     // it found out that the person opted out,
	suppresses []string // known by these hashes,
	others     []Record // with these other leads, as they were
}

// An editor is what an attempt and a settlement do to their lead.
type editor interface {
	// edit changes the row in memory. It may be called more than once, each time on a row
	// that was read anew.
	edit(r *row, c *change) fate
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

	clearProgress = `UPDATE leads SET progress = NULL WHERE progress IS NOT NULL AND lead_id IN {list $1}`

	markTrailsKept = `UPDATE outcomes SET trail_expired = FALSE WHERE lead_id IN {list $1}`
)

// makeChanges makes the changes in their order: steps 3a to 3d.
func makeChanges(ctx context.Context, s session, changes []*change) error {
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
		if err := c.apply(ctx, s, r, spending); err != nil {
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
			if c.others, err = redact(ctx, s, c.leadID, c.suppresses); err != nil {
				return err
			}
		}
	}
	// Last, because everybody writes to these few rows.
	if err := writeSpending(ctx, s, spending); err != nil {
		return fmt.Errorf("add up spending: %w", err)
	}
	return nil
}

// apply makes the change to its row, in memory.
func (c *change) apply(ctx context.Context, s session, r *row, spending map[spendingRow]float64) error {
	c.at, c.erases, c.suppresses, c.others = s.at, false, nil, nil
	f := c.edit(r, c)
	r.mention(c)
	c.err, c.repeated = nil, f == repeated
	if f == stale {
		c.err = ErrStale
	}
	before := len(r.added)
	if err := r.extendTrail(ctx, s, c, f); err != nil {
		return err
	}
	return r.charge(r.added[before:], c.at, spending)
}

// writeChanged writes the rows with all that was added to them.
func writeChanged(ctx context.Context, s session, changed []*row) error {
	var (
		trail           []trailRow
		outcomes        []*outcomeRow
		mentions        []mentionRow
		revived, erased []string
	)
	for _, r := range changed {
		trail = append(trail, r.added...)
		mentions = append(mentions, r.mentions...)
		if r.outcome != nil {
			outcomes = append(outcomes, r.outcome)
		}
		if r.trailExpired && len(r.added) > 0 {
			revived = append(revived, r.LeadID)
		}
		if !r.keepsProgress() {
			erased = append(erased, r.LeadID)
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
	if err := writeRows(ctx, s, insertMentions, mentions); err != nil {
		return fmt.Errorf("note mentions: %w", err)
	}
	if err := writeRows(ctx, s, clearProgress, erased); err != nil {
		return fmt.Errorf("clear progress: %w", err)
	}
	return nil
}

// writeRows runs a query whose one parameter is a table or a list.
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
