package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"backstop/lead"
)

const (
	// leadsOfPersons selects the leads of persons, by what they came with or by what
	// was found. To be used with IN and without OR: PostgreSQL would read all leads.
	leadsOfPersons = `SELECT p.lead_id FROM leads p WHERE p.person IN {list $1}
	UNION SELECT f.lead_id FROM outcomes f WHERE f.person IN {list $1} AND f.person <> ''`

	// aliases are the hashes, and the keys of the addresses if any, that leads came with
	// for which one of persons was found.
	aliases = `SELECT p.person, coalesce(p.email_key, '') FROM outcomes f JOIN leads p ON p.lead_id = f.lead_id
WHERE f.person IN {list $1} AND f.person <> '' AND p.person <> ''`

	// sightedAliases are also the names of leads for which one of persons was only
	// named. Not their addresses: a provider that was wrong would have somebody
	// suppressed at whose address nobody asked for it.
	sightedAliases = aliases + `
UNION SELECT l.person, '' FROM sightings g JOIN leads l ON l.lead_id = g.lead_id
WHERE g.person IN {list $1} AND l.email_key IS NULL AND l.person <> ''`

	// personsOfLead are those by whom a lead was suppressed, or would be.
	personsOfLead = `SELECT l.person FROM leads l WHERE l.lead_id = $1 AND l.person <> ''
UNION SELECT o.person FROM outcomes o WHERE o.lead_id = $1 AND o.person <> ''
UNION SELECT g.person FROM sightings g JOIN suppressions s ON s.person = g.person WHERE g.lead_id = $1`

	otherLeadsOfPersons = `SELECT l.lead_id, l.generation FROM leads l WHERE l.lead_id <> $2 AND l.lead_id IN (` + leadsOfPersons + `) ORDER BY l.lead_id`
)

// withAliases adds to a person's hashes those by which their leads know them, which a
// query finds, until there are no more: who is found by an address must not come back
// by name, and the leads with that name are theirs, too. The address of an office is
// nobody's name.
func withAliases(ctx context.Context, s session, persons []string, query string) ([]string, error) {
	persons = append([]string{}, persons...) // not nil, which is no list in JSON
	for grown := len(persons) > 0; grown; {
		list, err := jsonText(persons)
		if err != nil {
			return nil, err
		}
		found, err := readAll(ctx, s, scanAlias, query, list)
		if err != nil {
			return nil, fmt.Errorf("find a person's names: %w", err)
		}
		grown = false
		for _, person := range found {
			if person != "" && !slices.Contains(persons, person) {
				persons, grown = append(persons, person), true
			}
		}
	}
	return persons, nil
}

func scanAlias(r *sql.Rows) (person string, err error) {
	var emailKey string
	if err := r.Scan(&person, &emailKey); err != nil || lead.IsRoleAddress(emailKey) {
		return "", err
	}
	return person, nil
}

// SamePerson returns the other leads of the person that a lead is about, by what
// they came with and by what was found, also when they have been redacted: those
// that [Settled.Others] had when the lead was settled as suppressed. Leads for which an
// address of theirs was only named are not among them.
func (l *Ledger) SamePerson(ctx context.Context, leadID string) (refs []Ref, err error) {
	err = l.snapshot(ctx, func(s session) error {
		persons, err := readAll(ctx, s, scanText, personsOfLead, leadID)
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
		refs, err = readAll(ctx, s, scanRef, otherLeadsOfPersons, list, leadID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the other leads of a person: %w", err)
	}
	return refs, nil
}
