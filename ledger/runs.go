package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"backstop/lead"
)

// This file is about runs: the generations of leads. A lead's first run begins when it is
// accepted, and each later one when it is reopened.

func scanRun(r *sql.Rows) (run lead.Run, err error) { return run, r.Scan(&run.LeadID, &run.Generation) }

// runRow is a run with its place in a list, as a parameter.
type runRow struct {
	N          int    `json:"n"`
	LeadID     string `json:"lead_id"`
	Generation int    `json:"generation"`
}

// runTable are the runs as a table of {rows}.
func runTable(runs []lead.Run) (string, error) {
	rows := make([]runRow, len(runs))
	for i, r := range runs {
		rows[i] = runRow{N: i, LeadID: plain(r.LeadID), Generation: r.Generation}
	}
	return jsonText(rows)
}

const (
	theRuns = `{rows $1: n bigint, lead_id text, generation bigint} AS r`

	markEnqueued = `UPDATE leads SET enqueued_at = $2 FROM ` + theRuns + `
WHERE leads.lead_id = r.lead_id AND leads.generation = r.generation`

	reopenLeads = `UPDATE leads SET generation = leads.generation + 1, version = version + 1, retries = 0, progress = NULL,
	enqueued_at = NULL, started_at = NULL
FROM ` + theRuns + `
WHERE leads.lead_id = r.lead_id AND leads.generation = r.generation AND settled_generation >= leads.generation
	AND NOT EXISTS (SELECT 1 FROM suppressions s WHERE s.person = leads.person)
	AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.lead_id = leads.lead_id
		AND (o.status = 'suppressed' OR EXISTS (SELECT 1 FROM suppressions s WHERE s.person = o.person)))
RETURNING leads.lead_id, leads.generation`

	unsettledRuns = `SELECT r.n FROM ` + theRuns + `
JOIN leads l ON l.lead_id = r.lead_id WHERE l.settled_generation < r.generation`
)

// MarkEnqueued notes that the runs have a task now. A lead that has gone on to another
// generation is left alone.
func (l *Ledger) MarkEnqueued(ctx context.Context, runs []lead.Run) error {
	table, err := runTable(runs)
	if err == nil {
		err = l.writer.do(ctx, &write{run: func(ctx context.Context, s session) error {
			return s.exec(ctx, markEnqueued, table, s.at.Millis())
		}})
	}
	if err != nil {
		return fmt.Errorf("mark leads as enqueued: %w", err)
	}
	return nil
}

// Reopen begins the next run of leads that are to be enriched again, and returns the
// runs that it began. A lead is left alone if the given run is not its current one, or
// is not settled yet: so of two replays at once only one takes a lead. It is also left
// alone if its person opted out. Earlier runs are overtaken ([ErrStale]). The current
// outcome stays until a better one is settled.
func (l *Ledger) Reopen(ctx context.Context, runs []lead.Run) ([]lead.Run, error) {
	var began []lead.Run
	table, err := runTable(runs)
	if err == nil {
		err = l.writer.do(ctx, &write{run: func(ctx context.Context, s session) (err error) {
			began, err = readAll(ctx, s, scanRun, reopenLeads, table)
			return err
		}})
	}
	if err != nil {
		return nil, fmt.Errorf("reopen leads: %w", err) // began may still be written to
	}
	return began, nil
}

// Settled reports for each run whether it, or a later one of its lead, is settled. A
// lead that is not there counts as settled: nothing is owed to it.
func (l *Ledger) Settled(ctx context.Context, runs []lead.Run) ([]bool, error) {
	settled := make([]bool, len(runs))
	for i := range settled {
		settled[i] = true
	}
	table, err := runTable(runs)
	if err != nil {
		return nil, fmt.Errorf("look up which leads are settled: %w", err)
	}
	unsettled, err := readAll(ctx, l.reader(), scanOne[int], unsettledRuns, table)
	if err != nil {
		return nil, fmt.Errorf("look up which leads are settled: %w", err)
	}
	for _, i := range unsettled {
		settled[i] = false
	}
	return settled, nil
}
