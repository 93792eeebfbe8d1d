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

// This file is about who a lead is about. The ledger knows a person by keyed hashes, in
// four places:
//
//	leads.person      of what the lead came with: its address, else name and company
//	outcomes.person   of the address that was found, if it is another one
//	sightings.person  of addresses that providers mentioned for the lead, taken or not
//	people.person     of an entry of the directory
//
// The hashes by which one person is known are each other's aliases: a lead that came
// with a name and for which an address was found joins the two. (The tables sightings
// and people, and the columns, keep the names that they are stored under, so that two
// versions of the program can use one ledger.)

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

// address is the hash of the person with an address in any spelling; "" if it is not
// an address.
func (h hasher) address(email string) string {
	person, err := h.required(email)
	if err != nil {
		return ""
	}
	return person
}

// required is address for callers that need one: the error for what is not an address
// is a [*lead.FieldError].
func (h hasher) required(email string) (person string, err error) {
	normal, err := requireEmail(email)
	return h.hash(lead.EmailPersonKey(normal)), err
}

// requireEmail normalizes an address that must be there.
func requireEmail(email string) (normal string, err error) {
	normal, err = lead.NormalizeEmail(email)
	if err == nil && normal == "" {
		err = &lead.FieldError{Field: "email", Reason: "is empty", Cure: "give the person's address"}
	}
	return normal, err
}

// mentioned are the hashes of the persons with the addresses, each once.
func (h hasher) mentioned(addresses []string) (persons []string) {
	for _, a := range addresses {
		if person := h.address(a); person != "" && !slices.Contains(persons, person) {
			persons = append(persons, person)
		}
	}
	return persons
}

const (
	selectSecret = `SELECT value FROM secrets WHERE name = 'person'`
	insertSecret = `INSERT INTO secrets (name, value) VALUES ('person', $1) ON CONFLICT (name) DO NOTHING`
)

// readHasher reads the ledger's key, which the first to open the ledger makes. If
// several do so at once, all get the same one.
func readHasher(ctx context.Context, s session) (hasher, error) {
	key, err := readOne(ctx, s, scanOne[[]byte], selectSecret)
	if errors.Is(err, ErrNotFound) {
		fresh := make([]byte, 32)
		rand.Read(fresh) // never fails
		if err = s.exec(ctx, insertSecret, fresh); err == nil {
			key, err = readOne(ctx, s, scanOne[[]byte], selectSecret)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the ledger's key: %w", err)
	}
	return key, nil
}

// A mentionRow is a row of the table sightings: a provider mentioned an address for a
// lead's person, whether or not it was taken. By it the ledger finds leads that name
// somebody only in their trail or progress. It proves nothing: the provider may have
// meant somebody else.
type mentionRow struct {
	Person string `json:"person"`
	LeadID string `json:"lead_id"`
}

const (
	insertMentions = `INSERT INTO sightings (person, lead_id)
SELECT person, lead_id FROM {rows $1: person text, lead_id text} AS r
WHERE true
ON CONFLICT (person, lead_id) DO NOTHING`

	// isMentioned is a condition on a row of leads: somebody who opted out was mentioned
	// for it.
	isMentioned = `EXISTS (SELECT 1 FROM sightings g JOIN suppressions s ON s.person = g.person WHERE g.lead_id = leads.lead_id)`

	// leadsMentioning selects the leads for which a provider mentioned an address of
	// persons.
	leadsMentioning = `SELECT g.lead_id FROM sightings g WHERE g.person IN {list $1}`

	// leadsOfPersons selects the leads of persons, by what they came with or by what
	// was found. To be used with IN and without OR: PostgreSQL would read all leads.
	leadsOfPersons = `SELECT p.lead_id FROM leads p WHERE p.person IN {list $1}
	UNION SELECT f.lead_id FROM outcomes f WHERE f.person IN {list $1} AND f.person <> ''`

	recordsOfPersons = selectRecords + `WHERE l.lead_id IN (` + leadsOfPersons + `
	UNION ` + leadsMentioning + `) ORDER BY l.lead_id`

	// aliases are the hashes, and the keys of the addresses if any, that leads came with
	// for which one of persons was found.
	aliases = `SELECT p.person, coalesce(p.email_key, '') FROM outcomes f JOIN leads p ON p.lead_id = f.lead_id
WHERE f.person IN {list $1} AND f.person <> '' AND p.person <> ''`

	// mentionedAliases are also the names of leads for which one of persons was only
	// mentioned. Not their addresses: if the provider was wrong, somebody else would be
	// suppressed who never asked for it.
	mentionedAliases = aliases + `
UNION SELECT l.person, '' FROM sightings g JOIN leads l ON l.lead_id = g.lead_id
WHERE g.person IN {list $1} AND l.email_key IS NULL AND l.person <> ''`

	// personsOfLead are those by whom a lead was suppressed, or would be.
	personsOfLead = `SELECT l.person FROM leads l WHERE l.lead_id = $1 AND l.person <> ''
UNION SELECT o.person FROM outcomes o WHERE o.lead_id = $1 AND o.person <> ''
UNION SELECT g.person FROM sightings g JOIN suppressions s ON s.person = g.person WHERE g.lead_id = $1`

	otherLeadsOfPersons = `SELECT l.lead_id, l.generation FROM leads l WHERE l.lead_id <> $2 AND l.lead_id IN (` + leadsOfPersons + `) ORDER BY l.lead_id`
)

// withAliases adds to a person's hashes their aliases, which a query finds, until there
// are no more: a person who is found by an address must not come back by name, and the
// other leads with that name are theirs, too. An office's address is nobody's alias.
func withAliases(ctx context.Context, s session, persons []string, query string) ([]string, error) {
	persons = append([]string{}, persons...) // not nil, which is not a list in JSON
	for grown := len(persons) > 0; grown; {
		list, err := jsonText(persons)
		if err != nil {
			return nil, err
		}
		grown = false
		err = s.each(ctx, func(r *sql.Rows) error {
			var person, emailKey string
			err := r.Scan(&person, &emailKey)
			if err == nil && !lead.IsRoleAddress(emailKey) && !slices.Contains(persons, person) {
				persons, grown = append(persons, person), true
			}
			return err
		}, query, list)
		if err != nil {
			return nil, fmt.Errorf("find a person's names: %w", err)
		}
	}
	return persons, nil
}

// LeadsOf returns all leads of the person with an address, in any spelling: those that
// came with it, those for which it was found, those for which a provider mentioned it
// though it was not taken, and those that know the person by the name and company, or
// other address, of one of these. They are the leads that [Ledger.Forget] deletes;
// damaged ones are among them ([Record.Damaged]). The error for what is not an address is
// a [*lead.FieldError].
func (l *Ledger) LeadsOf(ctx context.Context, email string) (records []Record, err error) {
	person, err := l.persons.required(email)
	if err == nil {
		err = l.snapshot(ctx, func(s session) (err error) {
			records, _, err = recordsOf(ctx, s, person)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("find a person's leads: %w", err)
	}
	return records, nil
}

// recordsOf returns all leads of a person, and all hashes by which they know the person.
func recordsOf(ctx context.Context, s session, person string) ([]Record, []string, error) {
	persons, err := withAliases(ctx, s, []string{person}, mentionedAliases)
	if err != nil {
		return nil, nil, err
	}
	list, err := jsonText(persons)
	if err != nil {
		return nil, nil, err
	}
	records, err := readAll(ctx, s, scanRecord, recordsOfPersons, list)
	return records, persons, err
}

// SamePerson returns the other leads of the person that a lead is about, by what they
// came with and by what was found, also when they have been redacted: those that
// [Settled.Others] had when the lead was settled as suppressed. Leads for which an
// address of the person was only mentioned are not among them.
func (l *Ledger) SamePerson(ctx context.Context, leadID string) (runs []lead.Run, err error) {
	err = l.snapshot(ctx, func(s session) error {
		persons, err := readAll(ctx, s, scanOne[string], personsOfLead, leadID)
		if err != nil {
			return err
		}
		if persons, err = withAliases(ctx, s, persons, aliases); err != nil {
			return err
		}
		list, err := jsonText(persons)
		if err != nil {
			return err
		}
		runs, err = readAll(ctx, s, scanRun, otherLeadsOfPersons, list, leadID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the other leads of a person: %w", err)
	}
	return runs, nil
}
