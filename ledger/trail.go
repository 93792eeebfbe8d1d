package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"backstop/lead"
)

// This file extends trails (steps 3b and 3c in doc.go).

// trailRow is a row of the table trail.
type trailRow struct {
	LeadID string `json:"lead_id"`
	N      int    `json:"n"`
	trailEntry
	Credits   float64 `json:"credits"`
	Conflicts string  `json:"conflicts"` // JSON, "" for none
}

// trailEntry is that by which entries are compared. Conflicts are not part of it: they
// may have been redacted since.
type trailEntry struct {
	Attempt  int        `json:"attempt"`
	Provider string     `json:"provider"`
	Class    lead.Class `json:"class"`
	Status   int        `json:"status"`
	Detail   string     `json:"detail"`
	At       int64      `json:"at"` // in milliseconds; 0 is stored as NULL
	Millis   int64      `json:"ms"`
}

const (
	insertTrail = `INSERT INTO trail (lead_id, n, attempt, provider, class, status, detail, at, ms, credits, conflicts)
SELECT lead_id, n, attempt, provider, class, status, detail, nullif(at, 0), ms, credits, conflicts
FROM {rows $1: lead_id text, n bigint, attempt bigint, provider text, class text, status bigint, detail text, at bigint, ms bigint,
	credits double precision, conflicts text} AS r`

	trailOfLead = `SELECT attempt, provider, class, status, detail, at, ms FROM trail WHERE lead_id = $1`
)

func newTrailEntry(e lead.TrailEntry) trailEntry {
	return trailEntry{
		Attempt: e.Attempt, Provider: plain(e.Provider), Class: lead.Class(plain(string(e.Class))), Status: e.Status,
		Detail: plain(e.Detail), At: e.At.Millis(), Millis: e.Millis,
	}
}

// extendTrail appends the change's entries to the lead's trail. Those of a change that
// may have been made before are first compared with what is there: a caller repeats a
// commit whose answer was lost, and a trail has each call once. The trail is read for
// such changes only, which are few.
func (r *row) extendTrail(ctx context.Context, s session, c *change, f fate) error {
	there := map[trailEntry]bool{}
	switch f {
	case repeated:
		return nil
	case unsure, stale:
		if err := r.readTrail(ctx, s, there); err != nil {
			return err
		}
	}
	added := 0
	for _, e := range c.trail {
		entry := newTrailEntry(e)
		if there[entry] {
			continue
		}
		added++
		r.TrailLength++
		row := trailRow{LeadID: r.LeadID, N: r.TrailLength, trailEntry: entry, Credits: e.Credits}
		if len(e.Conflicts) > 0 && r.keepsConflicts() {
			conflicts, err := jsonText(e.Conflicts)
			if err != nil {
				return err
			}
			row.Conflicts = conflicts
		}
		r.added = append(r.added, row)
	}
	if f == unsure {
		c.repeated = added == 0 && len(c.trail) > 0
	}
	return nil
}

// readTrail notes the entries that are there, with those that this transaction
// has added already.
func (r *row) readTrail(ctx context.Context, s session, there map[trailEntry]bool) error {
	err := s.each(ctx, func(rows *sql.Rows) error {
		var (
			e  trailEntry
			at lead.Time
		)
		err := rows.Scan(&e.Attempt, &e.Provider, &e.Class, &e.Status, &e.Detail, stamp{&at}, &e.Millis)
		e.At = at.Millis()
		there[e] = true
		return err
	}, trailOfLead, r.LeadID)
	if err != nil {
		return fmt.Errorf("read a trail: %w", err)
	}
	for _, t := range r.added {
		there[t.trailEntry] = true
	}
	return nil
}
