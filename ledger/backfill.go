package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"backstop/lead"
)

// This file gives the rows of a ledger that an older version wrote the hashes by which
// people are known.

// unkeyed are the rows of one table that have no hash of their person yet: a version
// wrote them that had no hashes.
type unkeyed struct {
	page   string // of rows after $1: key and text
	update string
	person func(h hasher, text string) string
	then   func(ctx context.Context, s session, ids []string) error // alone; may be nil
}

var unkeyedRows = []unkeyed{
	{
		page:   `SELECT lead_id, lead FROM leads WHERE person IS NULL AND lead_id > $1 ORDER BY lead_id LIMIT $2`,
		update: `UPDATE leads SET person = r.person FROM {rows $1: id text, person text} AS r WHERE leads.lead_id = r.id AND leads.person IS NULL`,
		person: func(h hasher, text string) string {
			var l lead.Lead
			if decode("lead", text, &l) != nil {
				return "" // readers of the lead are told; the ledger can be opened all the same
			}
			return h.hash(lead.PersonKey(l))
		},
	},
	{
		page: `SELECT lead_id, profile FROM outcomes WHERE person IS NULL AND lead_id > $1 ORDER BY lead_id LIMIT $2`,
		update: `UPDATE outcomes SET person = CASE WHEN EXISTS (SELECT 1 FROM leads l WHERE l.lead_id = r.id AND l.person = r.person) THEN '' ELSE r.person END
FROM {rows $1: id text, person text} AS r WHERE outcomes.lead_id = r.id AND outcomes.person IS NULL`,
		person: func(h hasher, text string) string {
			var p lead.Profile
			if decode("profile", text, &p) != nil {
				return "" // as above
			}
			return h.address(p[lead.PersonEmail])
		},
		then: redactSuppressed,
	},
	{
		page:   `SELECT email_key, email FROM people WHERE person IS NULL AND email_key > $1 ORDER BY email_key LIMIT $2`,
		update: `UPDATE people SET person = r.person FROM {rows $1: id text, person text} AS r WHERE people.email_key = r.id AND people.person IS NULL`,
		person: hasher.address,
	},
}

// personOfRow is the person of a row whose primary key is ID.
type personOfRow struct {
	ID     string `json:"id"`
	Person string `json:"person"`

	text string
}

// fillPersons fills in the missing hashes, a page at a time. Other processes may do the
// same at the same time, and write leads. Where nothing is left to do it looks into three
// empty indexes.
func (l *Ledger) fillPersons(ctx context.Context) error {
	for _, u := range unkeyedRows {
		for after := ""; ; {
			page, err := readAll(ctx, l.reader(), func(r *sql.Rows) (p personOfRow, err error) {
				return p, r.Scan(&p.ID, &p.text)
			}, u.page, after, acceptChunk)
			if err != nil {
				return fmt.Errorf("find rows without a person: %w", err)
			}
			if len(page) == 0 {
				break
			}
			after = page[len(page)-1].ID
			if err := l.fillPage(ctx, u, page); err != nil {
				return fmt.Errorf("fill in persons: %w", err)
			}
		}
	}
	return nil
}

func (l *Ledger) fillPage(ctx context.Context, u unkeyed, page []personOfRow) error {
	ids := make([]string, len(page))
	for i := range page {
		ids[i] = page[i].ID
		page[i].Person = u.person(l.persons, page[i].text)
	}
	return l.writer.do(ctx, &write{alone: u.then != nil, run: func(ctx context.Context, s session) error {
		if err := writeRows(ctx, s, u.update, page); err != nil || u.then == nil {
			return err
		}
		return u.then(ctx, s, ids)
	}})
}

const selectSuppressedLeads = `SELECT l.lead_id, coalesce(l.person, ''), coalesce(o.person, '') FROM outcomes o JOIN leads l ON l.lead_id = o.lead_id
WHERE o.lead_id IN {list $1} AND (o.status = 'suppressed' OR EXISTS (SELECT 1 FROM suppressions s WHERE s.person IN (l.person, o.person)))`

// redactSuppressed remembers and redacts those of the leads that were settled as
// suppressed by a version that did not redact, and those of people who have opted out
// since.
func redactSuppressed(ctx context.Context, s session, leadIDs []string) error {
	list, err := jsonText(leadIDs)
	if err != nil {
		return err
	}
	changes, err := readAll(ctx, s, func(r *sql.Rows) (c change, err error) {
		var own, found string
		err = r.Scan(&c.leadID, &own, &found)
		c.suppresses = slices.DeleteFunc([]string{own, found}, func(p string) bool { return p == "" })
		return c, err
	}, selectSuppressedLeads, list)
	if err != nil {
		return fmt.Errorf("find suppressed leads: %w", err)
	}
	for _, c := range changes {
		if _, err := redact(ctx, s, c.leadID, c.suppresses); err != nil {
			return err
		}
	}
	return nil
}
