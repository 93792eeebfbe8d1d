package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"backstop/lead"
)

// This file reads and locks the leads that a transaction changes (step 3a in doc.go),
// and holds what their edits have in common (3b).

// row is a lead as a transaction read and locked it. What is exported is written back.
type row struct {
	LeadID            string  `json:"lead_id"`
	SettledGeneration int     `json:"settled_generation"`
	Retries           int     `json:"retries"`
	TrailLength       int     `json:"trail_length"`
	StartedAt         *int64  `json:"started_at"`
	Progress          *string `json:"progress"` // in hexadecimal; nil leaves the stored one
	Version           int64   `json:"version"`
	LastWrite         string  `json:"last_write"` // of those that are fenced
	Credits           *string `json:"credits"`    // nil leaves the stored ones

	generation  int
	acceptedAt  int64
	started     lead.Time
	added       []trailRow         // to the trail, in this transaction
	creditsText string             // as stored
	credits     map[string]float64 // with what was added; nil while nothing was
	person      string
	suppressed  map[string]bool // people who opted out; shared by the transaction's rows
	erased      bool            // to be redacted at the end of the transaction
	mentions    []mentionRow    // to write
	mentioned   bool            // somebody who opted out was mentioned for the lead

	// The current outcome; status is "" while there is none.
	status        lead.Status
	score         int
	firstSettled  lead.Time
	settled       lead.Time
	outcomePerson string
	trailExpired  bool
	outcome       *outcomeRow // the outcome to write, if it changes
}

// Leads are locked in the order of their IDs, so that two processes never wait
// for each other in a circle. The outcomes are read after the lock is held:
// PostgreSQL re-reads only locked rows, and a join would give a stale score.
const (
	lockLeads = `SELECT lead_id, generation, settled_generation, retries, trail_length, accepted_at, started_at, version, last_write,
	credits, coalesce(person, ''), EXISTS (SELECT 1 FROM suppressions s WHERE s.person = leads.person), ` + isMentioned + `
FROM leads WHERE lead_id IN {list $1} ORDER BY lead_id {for update}`

	readScores = `SELECT lead_id, status, score, first_settled_at, settled_at, trail_expired, coalesce(person, ''),
	EXISTS (SELECT 1 FROM suppressions s WHERE s.person = outcomes.person)
FROM outcomes WHERE lead_id IN {list $1}`
)

// lockChanged locks the leads of the changes, and looks up which of the people whose
// addresses were found opted out.
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
		r := rows[c.leadID]
		if r == nil {
			continue
		}
		if c.person != "" && c.person != r.person {
			found = append(found, c.person)
		}
		found = append(found, c.mentioned...)
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
	err = s.each(ctx, func(sr *sql.Rows) error {
		r, own := row{suppressed: suppressed}, false
		err := sr.Scan(&r.LeadID, &r.generation, &r.SettledGeneration, &r.Retries, &r.TrailLength, &r.acceptedAt,
			stamp{&r.started}, &r.Version, &r.LastWrite, &r.creditsText, &r.person, &own, &r.mentioned)
		if own {
			suppressed[r.person] = true
		}
		r.StartedAt = millis(r.started)
		rows[r.LeadID] = &r
		return err
	}, lockLeads, list)
	if err != nil {
		return nil, fmt.Errorf("lock leads: %w", err)
	}
	err = s.each(ctx, func(sr *sql.Rows) error {
		var (
			o         row
			optedOut  bool
			err       = sr.Scan(&o.LeadID, &o.status, &o.score, stamp{&o.firstSettled}, stamp{&o.settled}, &o.trailExpired, &o.outcomePerson, &optedOut)
			r, locked = rows[o.LeadID]
		)
		if optedOut {
			suppressed[o.outcomePerson] = true
		}
		if locked {
			r.status, r.score, r.firstSettled, r.settled = o.status, o.score, o.firstSettled, o.settled
			r.outcomePerson, r.trailExpired = o.outcomePerson, o.trailExpired
		}
		return err
	}, readScores, list)
	if err != nil {
		return nil, fmt.Errorf("read outcomes: %w", err)
	}
	return rows, nil
}

// A fence is the place from which a run of a lead writes. Each write that gets
// through moves the lead on to the next version, so a run that was stopped while
// another one took over its lead is behind, and can overwrite nothing.
type fence struct {
	generation int
	version    int64  // 0: the write is not fenced
	write      string // a hash of what is written; empty when it is not fenced
}

// newFence is the fence of a write. What is written includes the times of a run's
// calls, so that two runs never write the same; if they did, it would not matter
// which of the two it was.
func newFence(kind string, generation int, version int64, written any) (fence, error) {
	f := fence{generation: generation, version: version}
	if version == 0 {
		return f, nil
	}
	text, err := jsonText(written)
	if err != nil {
		return f, err
	}
	sum := sha256.Sum256([]byte(kind + text))
	f.write = hex.EncodeToString(sum[:16])
	return f, nil
}

// A fate is what becomes of a change.
type fate int

const (
	fresh    fate = iota // nothing of it was written before
	unsure               // it may be the repetition of a write whose answer was lost
	repeated             // it is: all of it is there
	stale                // the run was overtaken: only its trail is written, if it is not there
)

// admit checks a write against the fence, and moves the lead on if it gets through.
func (r *row) admit(f fence) fate {
	switch {
	case f.version == 0:
		return fresh
	case f.write == r.LastWrite: // also names the version, so it is no older one
		return repeated
	case f.version != r.Version || f.generation != r.generation:
		return stale
	}
	r.Version++
	r.LastWrite = f.write
	return fresh
}

// start notes when the work on the lead's generation began, unless that is known.
func (r *row) start(at lead.Time) {
	if r.started.IsZero() {
		r.started, r.StartedAt = at, millis(at)
	}
}

// mention notes whom a change names for the lead besides the lead's own address.
func (r *row) mention(c *change) {
	for _, person := range c.mentioned {
		if person == r.person {
			continue
		}
		r.mentions = append(r.mentions, mentionRow{Person: person, LeadID: r.LeadID})
		r.mentioned = r.mentioned || r.suppressed[person]
	}
}

// suppress notes that the lead's person, who may also be known by what was found,
// opted out; [change.redact] does the rest when all is written.
func (r *row) suppress(c *change, found []string) {
	r.erased = true
	if r.status != "" {
		r.status, r.score = lead.StatusSuppressed, suppressedScore
	}
	c.suppresses = []string{}
	for _, person := range append([]string{r.person, r.outcomePerson}, found...) {
		if person != "" && !slices.Contains(c.suppresses, person) {
			c.suppresses = append(c.suppresses, person)
			r.suppressed[person] = true
		}
	}
	c.erases = true
}

// isSuppressed reports whether the lead's person opted out, as far as this
// transaction knows.
func (r *row) isSuppressed() bool {
	return r.erased || r.status == lead.StatusSuppressed || r.suppressed[r.person] || r.suppressed[r.outcomePerson]
}

// keepsConflicts reports whether the values of an answer that were not taken may be
// written to the lead's trail.
func (r *row) keepsConflicts() bool { return !r.isSuppressed() && !r.mentioned }

// keepsProgress reports whether the lead's progress may stay: a run that is under way
// needs it, whoever is named in it.
func (r *row) keepsProgress() bool { return !r.mentioned || r.SettledGeneration < r.generation }
