package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"backstop/lead"
)

// Erased is what [Ledger.Forget] did.
type Erased struct {
	Leads, Outcomes, TrailEntries, People int      // rows deleted
	Records                               []Record // the leads, as they stood
	Remembered                            bool     // the person is turned away from now on
}

const (
	recordsOfPersons = selectRecords + `WHERE l.lead_id IN (` + leadsOfPersons + `
	UNION ` + leadsSighting + `) ORDER BY l.lead_id`

	deleteTrails   = `DELETE FROM trail WHERE lead_id IN {list $1}`
	deleteOutcomes = `DELETE FROM outcomes WHERE lead_id IN {list $1}`
	deleteLeads    = `DELETE FROM leads WHERE lead_id IN {list $1}`
)

// Person returns all leads of the person with an address, in any spelling: those
// that came with it, those for which it was found, those for which a provider named it
// though it was not taken, and those that know the person by the name and company, or
// other address, of one of these. It is what [Ledger.Forget] deletes. The error for an
// address that is none is a [*lead.FieldError].
func (l *Ledger) Person(ctx context.Context, email string) (records []Record, err error) {
	person, err := l.persons.asked(email)
	if err == nil {
		err = l.snapshot(ctx, func(s session) (err error) {
			records, _, err = recordsOf(ctx, s, person, scanRecord)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("find a person's leads: %w", err)
	}
	return records, nil
}

// recordsOf returns all leads of a person, and all hashes by which they know the person.
func recordsOf(ctx context.Context, s session, person string, scan func(*sql.Rows) (Record, error)) ([]Record, []string, error) {
	persons, err := withAliases(ctx, s, []string{person}, sightedAliases)
	if err != nil {
		return nil, nil, err
	}
	list, err := jsonText(persons)
	if err != nil {
		return nil, nil, err
	}
	records, err := readAll(ctx, s, scan, recordsOfPersons, list)
	return records, persons, err
}

// Forget deletes all leads of the person with an address, in any spelling, with
// outcomes and trails, and their entry in the directory; and remembers, also when
// nothing is known of them, that they are not to be taken in again: neither by the
// address nor by what the leads came with, so that they do not come back by name.
// Only the address with which a lead came for which theirs was merely named is not
// remembered: that was perhaps the provider's mistake. All of it happens or, with an
// error, none; it may be repeated. The error for an address that is none is a
// [*lead.FieldError]. [Ledger.Person] has the leads.
//
// A run of a lead that is under way meanwhile gets [ErrNotFound] from its writes.
// What was spent on the leads stays in [Ledger.Spent], but what such a run spent and
// could not write is lost to it.
//
// On SQLite the deleted data is overwritten in the file and its log before Forget
// returns, or, if others are reading, soon after. The file is rebuilt for that, which
// nobody can write beside; a file for which this takes longer than some seconds is
// left as it is, and may have copies in its unused space until it is vacuumed. On
// PostgreSQL the data stays in dead rows until the next vacuum, and in the server's
// log and backups for as long as these are kept.
func (l *Ledger) Forget(ctx context.Context, email string) (Erased, error) {
	person, err := l.persons.asked(email)
	if err != nil {
		return Erased{}, fmt.Errorf("forget a person: %w", err)
	}
	var erased Erased
	err = l.writer.do(ctx, &write{alone: true, erases: true, purges: true, run: func(ctx context.Context, s session) (err error) {
		erased, err = forget(ctx, s, person, lead.At(l.now()))
		return err
	}})
	if err != nil {
		return Erased{}, fmt.Errorf("forget a person: %w", err) // erased may still be written to
	}
	return erased, nil
}

func forget(ctx context.Context, s session, person string, at lead.Time) (e Erased, err error) {
	var persons []string
	if e.Records, persons, err = recordsOf(ctx, s, person, scanErased); err != nil {
		return e, fmt.Errorf("find the leads: %w", err)
	}
	if err := remember(ctx, s, persons, at, suppressedByRequest); err != nil {
		return e, err
	}
	e.Remembered = true
	ids := make([]string, len(e.Records))
	for i, r := range e.Records {
		ids[i] = r.LeadID
	}
	if e.Leads, e.Outcomes, e.TrailEntries, err = deleteAll(ctx, s, ids); err != nil {
		return e, err
	}
	list, err := jsonText(persons)
	if err != nil {
		return e, err
	}
	if e.People, err = s.count(ctx, deletePeople, list); err != nil {
		return e, fmt.Errorf("delete from the directory: %w", err)
	}
	return e, nil
}

// deleteAll deletes leads with all that belongs to them, and counts the rows.
func deleteAll(ctx context.Context, s session, leadIDs []string) (leads, outcomes, entries int, err error) {
	list, err := jsonText(leadIDs)
	if err != nil {
		return 0, 0, 0, err
	}
	for _, table := range []struct {
		query string
		n     *int
	}{{deleteTrails, &entries}, {deleteOutcomes, &outcomes}, {deleteLeads, &leads}} {
		if *table.n, err = s.count(ctx, table.query, list); err != nil {
			return 0, 0, 0, fmt.Errorf("delete leads: %w", err)
		}
	}
	return leads, outcomes, entries, nil
}
