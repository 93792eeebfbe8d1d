package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"maps"

	"backstop/lead"
)

// Leads are locked in the order of their IDs, so that two processes never wait
// for each other in a circle. The outcomes are read after the lock is held:
// PostgreSQL re-reads only locked rows, and a join would give a stale score.
const (
	lockLeads = `SELECT lead_id, generation, settled_generation, retries, trail_length, accepted_at, started_at, version, last_write,
	credits, coalesce(person, ''), EXISTS (SELECT 1 FROM suppressions s WHERE s.person = leads.person), ` + sighted + `
FROM leads WHERE lead_id IN {list $1} ORDER BY lead_id {for update}`

	readScores = `SELECT lead_id, status, score, first_settled_at, settled_at, trail_expired, coalesce(person, ''),
	EXISTS (SELECT 1 FROM suppressions s WHERE s.person = outcomes.person)
FROM outcomes WHERE lead_id IN {list $1}`
)

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
		r := rows[c.leadID]
		if r == nil {
			continue
		}
		if c.person != "" && c.person != r.person {
			found = append(found, c.person)
		}
		found = append(found, c.found...)
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
			stamp{&r.started}, &r.Version, &r.LastWrite, &r.creditsText, &r.person, &own, &r.sighted)
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
