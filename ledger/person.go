package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"backstop/lead"
)

// A hasher makes the hash by which the ledger knows a person without naming them.
// Without its key nobody can tell whose hash one is by trying addresses.
type hasher []byte

// hash is the keyed hash of a [lead.PersonKey], "" for "". Half of an HMAC-SHA256 is
// more than enough to tell people apart, and keeps the indexes small.
func (h hasher) hash(personKey string) string {
	if personKey == "" {
		return ""
	}
	mac := hmac.New(sha256.New, h)
	mac.Write([]byte(personKey))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// address is the hash of the person with an address in any spelling; "" if it is
// none.
func (h hasher) address(email string) string {
	normal, err := lead.NormalizeEmail(email)
	if err != nil {
		return ""
	}
	return h.hash(lead.EmailPersonKey(normal))
}

// asked is address for somebody who asks about a person: an address that is none is
// a [*lead.FieldError].
func (h hasher) asked(email string) (person string, err error) {
	normal, err := lead.NormalizeEmail(email)
	if err == nil && normal == "" {
		err = &lead.FieldError{Field: "email", Reason: "is empty", Cure: "give the person's address"}
	}
	return h.hash(lead.EmailPersonKey(normal)), err
}

const (
	selectSecret = `SELECT value FROM secrets WHERE name = 'person'`
	insertSecret = `INSERT INTO secrets (name, value) VALUES ('person', $1) ON CONFLICT (name) DO NOTHING`
)

// readHasher reads the ledger's key, which the first to open the ledger makes. Of
// several at once all get the same one.
func readHasher(ctx context.Context, s session) (hasher, error) {
	read := func() (hasher, error) {
		return readOne(ctx, s, func(r *sql.Rows) (h hasher, err error) { return h, r.Scan((*[]byte)(&h)) }, selectSecret)
	}
	key, err := read()
	if errors.Is(err, ErrNotFound) {
		fresh := make([]byte, 32)
		rand.Read(fresh) // never fails
		if err = s.exec(ctx, insertSecret, fresh); err == nil {
			key, err = read()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the ledger's key: %w", err)
	}
	return key, nil
}

// unkeyed are rows of one table that have no person yet: they are of before there
// were persons' hashes.
type unkeyed struct {
	page   string // of rows after $1: key and text
	update string
	person func(h hasher, text string) string
	then   func(ctx context.Context, s session, ids []string, at lead.Time) error // alone; may be nil
}

var unkeyedRows = []unkeyed{
	{
		page:   `SELECT lead_id, lead FROM leads WHERE person IS NULL AND lead_id > $1 ORDER BY lead_id LIMIT $2`,
		update: `UPDATE leads SET person = r.person FROM {rows $1: id text, person text} AS r WHERE leads.lead_id = r.id AND leads.person IS NULL`,
		person: func(h hasher, text string) string {
			var l lead.Lead
			if decode("lead", text, &l) != nil {
				return "" // who reads the lead gets the error; the ledger can be opened all the same
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

// fillPersons gives the rows of before this schema their persons, a page at a time.
// Others may do the same at once, and write leads. In a ledger where nothing is left
// to do it looks into three empty indexes.
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
		return u.then(ctx, s, ids, lead.At(l.now()))
	}})
}

const selectSuppressedLeads = `SELECT l.lead_id, coalesce(l.person, ''), coalesce(o.person, '') FROM outcomes o JOIN leads l ON l.lead_id = o.lead_id
WHERE o.lead_id IN {list $1} AND (o.status = 'suppressed' OR EXISTS (SELECT 1 FROM suppressions s WHERE s.person IN (l.person, o.person)))`

// redactSuppressed remembers and redacts those of the leads that were settled as
// suppressed when the ledger did not do so yet, and those of the persons of whom it
// has found that out since.
func redactSuppressed(ctx context.Context, s session, leadIDs []string, at lead.Time) error {
	list, err := jsonText(leadIDs)
	if err != nil {
		return err
	}
	changes, err := readAll(ctx, s, func(r *sql.Rows) (c change, err error) {
		var own, found string
		err = r.Scan(&c.leadID, &own, &found)
		c.at, c.suppresses = at, slices.DeleteFunc([]string{own, found}, func(p string) bool { return p == "" })
		return c, err
	}, selectSuppressedLeads, list)
	if err != nil {
		return fmt.Errorf("find suppressed leads: %w", err)
	}
	for _, c := range changes {
		if err := c.redact(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
