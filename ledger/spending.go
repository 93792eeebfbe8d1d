package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"backstop/lead"
)

// This file adds up what calls cost (steps 3b and 3d in doc.go).

// dayLayout is how the days of the table spending are written.
const dayLayout = "2006-01-02"

// spendingRow is what a provider cost on one day.
type spendingRow struct {
	Provider string  `json:"provider"`
	Day      string  `json:"day"`
	Credits  float64 `json:"credits"`
}

const (
	// Rows are in the order of their key, so that two processes never wait for each
	// other in a circle.
	addSpending = `INSERT INTO spending (provider, day, credits)
SELECT provider, day, credits FROM {rows $1: provider text, day text, credits double precision} AS r
WHERE true ORDER BY provider, day
ON CONFLICT (provider, day) DO UPDATE SET credits = spending.credits + excluded.credits`

	selectSpent = `SELECT coalesce(sum(CASE WHEN day = $2 THEN credits END), 0.0), coalesce(sum(credits), 0.0)
FROM spending WHERE provider = $1 AND day >= $3 AND day < $4`
)

// charge adds what the row's new entries cost to the lead's credits, and to
// spending by the day of the call; that of an entry without a time is at's.
func (r *row) charge(entries []trailRow, at lead.Time, spending map[spendingRow]float64) error {
	for _, e := range entries {
		if e.Credits == 0 {
			continue
		}
		if r.credits == nil {
			_ = decode("credits", r.creditsText, &r.credits) // a damaged sum begins anew: it must not keep the lead from its outcome
			if r.credits == nil {
				r.credits = map[string]float64{}
			}
		}
		r.credits[e.Provider] += e.Credits
		called := lead.FromMillis(e.At)
		if called.IsZero() {
			called = at
		}
		spending[spendingRow{Provider: e.Provider, Day: called.UTC().Format(dayLayout)}] += e.Credits
	}
	if r.credits == nil {
		return nil
	}
	text, err := jsonText(r.credits)
	r.Credits = &text
	return err
}

// writeSpending adds sums, keyed by rows without credits.
func writeSpending(ctx context.Context, s session, sums map[spendingRow]float64) error {
	var rows []spendingRow
	for row, credits := range sums {
		row.Credits = credits
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b spendingRow) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Day, b.Day))
	})
	return writeRows(ctx, s, addSpending, rows)
}

// Spent is what a provider has cost, in credits, in the UTC day and in the UTC
// month that contain now. It counts each trail entry that was written, once, on the
// day of its call, and goes on doing so after the lead was erased or has expired.
func (l *Ledger) Spent(ctx context.Context, provider string, now time.Time) (day, month float64, err error) {
	type sums struct{ day, month float64 }
	now = now.UTC()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	spent, err := readOne(ctx, l.reader(), func(r *sql.Rows) (s sums, err error) { return s, r.Scan(&s.day, &s.month) },
		selectSpent, plain(provider), now.Format(dayLayout), first.Format(dayLayout), first.AddDate(0, 1, 0).Format(dayLayout))
	if err != nil {
		return 0, 0, fmt.Errorf("read what a provider cost: %w", err)
	}
	return spent.day, spent.month, nil
}
