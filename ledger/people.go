package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"backstop/lead"
)

// A Person is an entry of the in-house directory.
type Person struct {
	Email   string
	Profile lead.Profile
	AsOf    time.Time // when the profile was true; zero if that is not known
}

// personRow is a row of the table people.
type personRow struct {
	EmailKey string `json:"email_key"`
	Email    string `json:"email"`
	Person   string `json:"person"`
	Profile  string `json:"profile"`
	AsOf     *int64 `json:"as_of"`
}

const (
	countPeople = `SELECT count(*) FROM people WHERE email_key IN (SELECT email_key FROM {rows $1: email_key text} AS r)`

	upsertPeople = `INSERT INTO people (email_key, email, person, profile, as_of)
SELECT email_key, email, person, profile, as_of
FROM {rows $1: email_key text, email text, person text, profile text, as_of bigint} AS r
WHERE true ORDER BY email_key
ON CONFLICT (email_key) DO UPDATE SET email = excluded.email, person = excluded.person,
	profile = excluded.profile, as_of = excluded.as_of`

	selectPerson = `SELECT profile, as_of FROM people WHERE email_key = $1`
)

// Put is how many entries of the directory a call of [Ledger.PutPeople] wrote.
type Put struct{ Inserted, Updated int }

// PutPeople puts entries into the directory, all or none. An entry replaces the
// one of the same address ([lead.EmailKey]); of two in one call the last counts.
// People who asked not to be processed are turned away, and counted. The error for
// an address that is none says which entry it is, from 1.
func (l *Ledger) PutPeople(ctx context.Context, people []Person) (put Put, suppressed int, err error) {
	rows, err := l.personRows(people)
	if err != nil {
		return Put{}, 0, fmt.Errorf("put people: %w", err)
	}
	err = l.writer.do(ctx, &write{run: func(ctx context.Context, s session) error {
		put, suppressed = Put{}, 0
		for chunk := range slices.Chunk(rows, acceptChunk) {
			taken, err := welcome(ctx, s, chunk, func(r personRow) string { return r.Person })
			if err != nil {
				return err
			}
			updated, err := upsertChunk(ctx, s, taken)
			if err != nil {
				return err
			}
			put.Updated += updated
			put.Inserted += len(taken) - updated
			suppressed += len(chunk) - len(taken)
		}
		return nil
	}})
	if err != nil {
		return Put{}, 0, fmt.Errorf("put people: %w", err)
	}
	return put, suppressed, nil
}

// upsertChunk writes the rows and returns how many were there before.
func upsertChunk(ctx context.Context, s session, rows []personRow) (old int, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	table, err := jsonText(rows)
	if err != nil {
		return 0, err
	}
	old, err = readOne(ctx, s, func(r *sql.Rows) (n int, err error) { return n, r.Scan(&n) }, countPeople, table)
	if err != nil {
		return 0, err
	}
	return old, s.exec(ctx, upsertPeople, table)
}

// personRows makes rows of the people, each person once, in the order of keys.
func (l *Ledger) personRows(people []Person) ([]personRow, error) {
	byKey := make(map[string]personRow, len(people))
	for i, p := range people {
		email, err := lead.NormalizeEmail(p.Email)
		if err == nil && email == "" {
			err = &lead.FieldError{Field: "email", Reason: "is empty", Cure: "give the person's address"}
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		profile, err := jsonText(p.Profile)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		key := lead.EmailKey(email)
		byKey[key] = personRow{EmailKey: key, Email: email, Person: l.persons.hash(lead.EmailPersonKey(email)), Profile: profile, AsOf: millis(lead.At(p.AsOf))}
	}
	rows := make([]personRow, 0, len(byKey))
	for _, r := range byKey {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b personRow) int { return strings.Compare(a.EmailKey, b.EmailKey) })
	return rows, nil
}

// LookupPerson asks the directory about an address in any spelling. ok is false
// when it does not know the person.
func (l *Ledger) LookupPerson(ctx context.Context, email string) (p lead.Profile, asOf time.Time, ok bool, err error) {
	type entry struct {
		profile lead.Profile
		asOf    lead.Time
	}
	found, err := readOne(ctx, l.reader(), func(r *sql.Rows) (e entry, err error) {
		var text string
		if err := r.Scan(&text, stamp{&e.asOf}); err != nil {
			return e, err
		}
		return e, decode("profile", text, &e.profile)
	}, selectPerson, emailKey(email))
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, time.Time{}, false, nil
	case err != nil:
		return nil, time.Time{}, false, fmt.Errorf("look up a person: %w", err)
	}
	return found.profile, found.asOf.Time, true, nil
}
