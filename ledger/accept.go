package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"backstop/lead"
)

// This file accepts leads.

// Accepted is what became of one lead of a batch.
type Accepted struct {
	LeadID     string
	RequestID  string
	Generation int
	Duplicate  bool      // it was there before, or comes earlier in the batch
	Live       bool      // not settled for its generation: it needs a task
	Suppressed bool      // the person opted out: unless it was there before, it is not stored
	Lead       lead.Lead // as stored, or as it came if that is damaged; the zero Lead if it is not stored
}

// acceptedRow is a new row of the table leads.
type acceptedRow struct {
	LeadID     string `json:"lead_id"`
	RequestID  string `json:"request_id"`
	Source     string `json:"source"`
	EmailKey   string `json:"email_key"`
	Person     string `json:"person"`
	Lead       string `json:"lead"`
	AcceptedAt int64  `json:"accepted_at"`

	is lead.Lead
}

const (
	// Rows are inserted in the order of their IDs: two processes that accept the
	// same leads wait for each other's rows, and must not do so in a circle.
	insertLeads = `INSERT INTO leads (lead_id, request_id, source, email_key, person, lead, accepted_at)
SELECT lead_id, request_id, source, nullif(email_key, ''), person, lead, accepted_at
FROM {rows $1: lead_id text, request_id text, source text, email_key text, person text, lead text, accepted_at bigint} AS r
WHERE true ORDER BY lead_id
ON CONFLICT (lead_id) DO NOTHING
RETURNING lead_id`

	readAccepted = `SELECT l.lead_id, l.request_id, l.generation, l.settled_generation, l.lead, ` + suppressed + `
FROM leads l LEFT JOIN outcomes o ON o.lead_id = l.lead_id WHERE l.lead_id IN {list $1}`

	// acceptChunk bounds the size of one statement's parameter.
	acceptChunk = 1000
)

// acceptMaxWait is how long Accept tries again while the database is away.
const acceptMaxWait = 10 * time.Second

// Accept takes leads, which must be as [lead.Normalize] returns them, into the
// ledger: all of them or, with an error, none. The results are in the order of the
// leads. A lead that is there already stays as it is. People who opted out are not
// accepted: their leads are [Accepted.Suppressed], also those that are there already.
//
// While the database is away Accept tries again, for about ten seconds or until ctx
// ends. If the database was away only after it had committed, so that its answer was
// lost, the leads are there with the request IDs of this call, and count as new. After
// an error that [IsAway] recognizes, or that of ctx, they may be there or not.
func (l *Ledger) Accept(ctx context.Context, leads []lead.Lead) ([]Accepted, error) {
	rows, ids, err := l.newLeads(leads, lead.At(l.now()))
	if err != nil {
		return nil, fmt.Errorf("accept leads: %w", err)
	}
	var stored map[string]Accepted
	waiting, cancel := context.WithTimeout(ctx, acceptMaxWait)
	defer cancel()
	err = WhileAway(waiting, func(context.Context) (err error) {
		stored, err = l.acceptOnce(ctx, rows)
		return err
	})
	if ctx.Err() != nil && IsAway(err) {
		err = fmt.Errorf("stopped waiting for the ledger to come back: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("accept leads: %w", err)
	}
	results := make([]Accepted, len(ids))
	for i, id := range ids {
		results[i] = stored[id]
		again := results[i]
		again.Duplicate = true
		stored[id] = again // for the next time it comes in this batch
	}
	return results, nil
}

// acceptOnce stores the rows in one transaction and returns all as they are stored.
func (l *Ledger) acceptOnce(ctx context.Context, rows []acceptedRow) (map[string]Accepted, error) {
	var stored map[string]Accepted
	err := l.writer.do(ctx, &write{run: func(ctx context.Context, s session) error {
		stored = make(map[string]Accepted, len(rows))
		for chunk := range slices.Chunk(rows, acceptChunk) {
			if err := insertChunk(ctx, s, chunk, stored); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err // stored may still be written to
	}
	return stored, nil
}

// newLeads makes rows of the leads, each once and in the order of their IDs, and
// lists the ID of every lead.
func (l *Ledger) newLeads(leads []lead.Lead, now lead.Time) (rows []acceptedRow, ids []string, err error) {
	seen := make(map[string]bool, len(leads))
	for _, ld := range leads {
		id := ld.ID()
		ids = append(ids, id)
		if seen[id] {
			continue
		}
		seen[id] = true
		request, err := uuid.NewV7()
		if err != nil {
			return nil, nil, fmt.Errorf("make a request ID: %w", err)
		}
		text, err := jsonText(ld)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, acceptedRow{
			LeadID: id, RequestID: "req_" + strings.ReplaceAll(request.String(), "-", ""),
			Source: plain(ld.Source), EmailKey: plain(lead.EmailKey(ld.Email)),
			Person: l.persons.hash(lead.PersonKey(ld)), Lead: text, AcceptedAt: now.Millis(), is: ld,
		})
	}
	slices.SortFunc(rows, func(a, b acceptedRow) int { return strings.Compare(a.LeadID, b.LeadID) })
	return rows, ids, nil
}

// insertChunk inserts the rows that are new, and adds all of them to stored as the
// ledger has them.
func insertChunk(ctx context.Context, s session, chunk []acceptedRow, stored map[string]Accepted) error {
	taken, err := withoutSuppressed(ctx, s, chunk, func(r acceptedRow) string { return r.Person })
	if err != nil {
		return err
	}
	for _, r := range chunk {
		stored[r.LeadID] = Accepted{LeadID: r.LeadID, Suppressed: true}
	}
	for _, r := range taken {
		delete(stored, r.LeadID)
	}
	isNew, err := insertNew(ctx, s, taken)
	if err != nil {
		return fmt.Errorf("insert leads: %w", err)
	}
	var old []string
	came := map[string]acceptedRow{}
	for _, r := range chunk {
		if !isNew[r.LeadID] {
			old = append(old, r.LeadID)
			came[r.LeadID] = r
			continue
		}
		stored[r.LeadID] = Accepted{LeadID: r.LeadID, RequestID: r.RequestID, Generation: 1, Live: true, Lead: r.is}
	}
	if len(old) == 0 {
		return nil
	}
	list, err := jsonText(old)
	if err != nil {
		return err
	}
	duplicates, err := readAll(ctx, s, scanDuplicate, readAccepted, list)
	if err != nil {
		return fmt.Errorf("read leads that are there: %w", err)
	}
	for _, a := range duplicates {
		a.Suppressed = a.Suppressed || stored[a.LeadID].Suppressed
		a.Duplicate = a.RequestID != came[a.LeadID].RequestID // else this very call stored it before
		if decode("lead", a.text, &a.Lead) != nil {
			a.Lead = came[a.LeadID].is
		}
		stored[a.LeadID] = a.Accepted
	}
	return nil
}

// insertNew inserts the rows that are not there and returns their IDs.
func insertNew(ctx context.Context, s session, rows []acceptedRow) (map[string]bool, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	table, err := jsonText(rows)
	if err != nil {
		return nil, err
	}
	inserted, err := readAll(ctx, s, scanOne[string], insertLeads, table)
	if err != nil {
		return nil, err
	}
	isNew := make(map[string]bool, len(inserted))
	for _, id := range inserted {
		isNew[id] = true
	}
	return isNew, nil
}

// duplicate is a lead that is there already.
type duplicate struct {
	Accepted
	text string // the lead as stored
}

func scanDuplicate(r *sql.Rows) (d duplicate, err error) {
	var settled int
	err = r.Scan(&d.LeadID, &d.RequestID, &d.Generation, &settled, &d.text, &d.Suppressed)
	d.Live = settled < d.Generation
	return d, err
}
