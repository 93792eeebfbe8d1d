package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"backstop/lead"
)

// A Ref names a generation of a lead.
type Ref = lead.Run

func scanRef(r *sql.Rows) (ref Ref, err error) { return ref, r.Scan(&ref.LeadID, &ref.Generation) }

// byGeneration groups the lead IDs of refs, as JSON arrays.
func byGeneration(refs []Ref) (map[int]string, error) {
	ids := map[int][]string{}
	for _, r := range refs {
		ids[r.Generation] = append(ids[r.Generation], r.LeadID)
	}
	lists := map[int]string{}
	for generation, group := range ids {
		list, err := jsonText(group)
		if err != nil {
			return nil, err
		}
		lists[generation] = list
	}
	return lists, nil
}

const markEnqueued = `UPDATE leads SET enqueued_at = $1 WHERE generation = $2 AND lead_id IN {list $3}`

// MarkEnqueued notes that the leads have a task now. A lead that has gone on to
// another generation is left alone.
func (l *Ledger) MarkEnqueued(ctx context.Context, refs []Ref) error {
	lists, err := byGeneration(refs)
	if err != nil {
		return fmt.Errorf("mark leads as enqueued: %w", err)
	}
	now := lead.At(l.now()).Millis()
	err = l.writer.do(ctx, &write{run: func(ctx context.Context, s session) error {
		for generation, list := range lists {
			if err := s.exec(ctx, markEnqueued, now, generation, list); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return fmt.Errorf("mark leads as enqueued: %w", err)
	}
	return nil
}
