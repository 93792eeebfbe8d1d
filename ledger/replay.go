package ledger

import (
	"context"
	"fmt"
)

const reopenLeads = `UPDATE leads SET generation = generation + 1, version = version + 1, retries = 0, progress = NULL,
	enqueued_at = NULL, started_at = NULL
WHERE generation = $1 AND settled_generation >= generation AND lead_id IN {list $2}
	AND NOT EXISTS (SELECT 1 FROM suppressions s WHERE s.person = leads.person)
	AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.lead_id = leads.lead_id
		AND (o.status = 'suppressed' OR EXISTS (SELECT 1 FROM suppressions s WHERE s.person = o.person)))
RETURNING lead_id, generation`

// Reopen begins the next generation of leads that are to be enriched again, and
// returns those that it began. A lead is left alone when its generation is not
// the ref's any more, or is not settled yet: so of two replays at once only one
// takes a lead. So is one whose person asked not to be processed. Runs of the
// generation before are overtaken ([ErrStale]). The current outcome stays until a
// better one is settled.
func (l *Ledger) Reopen(ctx context.Context, refs []Ref) ([]Ref, error) {
	lists, err := byGeneration(refs)
	if err != nil {
		return nil, fmt.Errorf("reopen leads: %w", err)
	}
	var reopened []Ref
	err = l.writer.do(ctx, &write{run: func(ctx context.Context, s session) error {
		reopened = nil
		for generation, list := range lists {
			began, err := readAll(ctx, s, scanRef, reopenLeads, generation, list)
			if err != nil {
				return err
			}
			reopened = append(reopened, began...)
		}
		return nil
	}})
	if err != nil {
		return nil, fmt.Errorf("reopen leads: %w", err)
	}
	return reopened, nil
}
