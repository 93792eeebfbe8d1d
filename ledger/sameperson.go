package ledger

import (
	"context"
	"database/sql"
	"fmt"
)

const leadsOfSamePerson = `SELECT l.lead_id, l.generation FROM leads l WHERE l.lead_id <> $1 AND l.lead_id IN
	(SELECT p.lead_id FROM leads p WHERE p.person IN (SELECT person FROM leads WHERE lead_id = $1 UNION SELECT person FROM outcomes WHERE lead_id = $1) AND p.person <> ''
	UNION SELECT f.lead_id FROM outcomes f WHERE f.person IN (SELECT person FROM leads WHERE lead_id = $1 UNION SELECT person FROM outcomes WHERE lead_id = $1) AND f.person <> '')
ORDER BY l.lead_id`

// SamePerson returns the other leads of the person that a lead is about, by what
// they came with and by what was found, also when they have been redacted.
func (l *Ledger) SamePerson(ctx context.Context, leadID string) ([]Ref, error) {
	refs, err := readAll(ctx, l.reader(), func(r *sql.Rows) (ref Ref, err error) {
		return ref, r.Scan(&ref.LeadID, &ref.Generation)
	}, leadsOfSamePerson, leadID)
	if err != nil {
		return nil, fmt.Errorf("find the other leads of a person: %w", err)
	}
	return refs, nil
}
