package ops

import (
	"context"
	"fmt"
	"time"

	"backstop/lead"
	"backstop/ledger"
	"backstop/queue"
	"backstop/reconcile"
)

// AuditCounts are how many leads there are: Accepted = Settled + Open.
type AuditCounts struct {
	Accepted    int64         `json:"accepted"`
	Settled     SettledCounts `json:"settled"`
	Open        int64         `json:"open"`        // without an outcome yet
	Unaccounted int64         `json:"unaccounted"` // open, and no task will bring them further: must be 0
}

// SettledCounts counts outcomes by status.
type SettledCounts struct {
	Enriched   int64 `json:"enriched"`
	Partial    int64 `json:"partial"`
	Suppressed int64 `json:"suppressed"`
}

// Total is the number of leads with an outcome.
func (s SettledCounts) Total() int64 { return s.Enriched + s.Partial + s.Suppressed }

// CountsOf is the part of the books that the ledger alone knows; nothing in it is
// unaccounted.
func CountsOf(c ledger.Counts) AuditCounts {
	return AuditCounts{
		Accepted: c.Accepted, Open: c.Open,
		Settled: SettledCounts{
			Enriched: c.Settled[lead.StatusEnriched], Partial: c.Settled[lead.StatusPartial],
			Suppressed: c.Settled[lead.StatusSuppressed],
		},
	}
}

// Audit counts the leads and looks for a task of every open one. q may be nil
// when no lead is open. Leads that have none are unaccounted for, and offender,
// if not nil, is told each. Those accepted within the grace before now may still
// be on their way from the ledger to the queue and are not looked at.
func Audit(ctx context.Context, l *ledger.Ledger, q *queue.Queue, now time.Time, offender func(ledger.Record)) (AuditCounts, error) {
	counts, err := l.Counts(ctx)
	if err != nil {
		return AuditCounts{}, fmt.Errorf("count the leads: %w", err)
	}
	books := CountsOf(counts)
	if books.Accepted != books.Settled.Total()+books.Open {
		return books, fmt.Errorf("the books do not add up: %d accepted, %d settled, %d open", books.Accepted, books.Settled.Total(), books.Open)
	}
	if counts.Live == 0 {
		return books, nil
	}
	err = reconcile.EachUnaccounted(ctx, l, q, now.Add(-reconcile.Grace), func(rec ledger.Record) error {
		books.Unaccounted++
		if offender != nil {
			offender(rec)
		}
		return nil
	})
	return books, err
}
