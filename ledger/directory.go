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

// This file is the in-house directory: what the ledger's owner knows about people. It is
// kept in the table people.

// A DirectoryEntry is what the directory knows about a person.
type DirectoryEntry struct {
	Email   string
	Profile lead.Profile
	AsOf    time.Time // when the profile was true; zero if that is not known
}

// entryRow is a row of the table people.
type entryRow struct {
	EmailKey string `json:"email_key"`
	Email    string `json:"email"`
	Person   string `json:"person"`
	Profile  string `json:"profile"`
	AsOf     *int64 `json:"as_of"`
}

const (
	countEntries = `SELECT count(*) FROM people WHERE email_key IN (SELECT email_key FROM {rows $1: email_key text} AS r)`

	upsertEntries = `INSERT INTO people (email_key, email, person, profile, as_of)
SELECT email_key, email, person, profile, as_of
FROM {rows $1: email_key text, email text, person text, profile text, as_of bigint} AS r
WHERE true ORDER BY email_key
ON CONFLICT (email_key) DO UPDATE SET email = excluded.email, person = excluded.person,
	profile = excluded.profile, as_of = excluded.as_of`

	selectEntry = `SELECT profile, as_of FROM people WHERE email_key = $1`
)

// Put is what a call of [Ledger.PutEntries] did.
type Put struct {
	Inserted, Updated int
	Suppressed        int // entries of people who opted out: they are not written
}

// PutEntries puts entries into the directory, all or none. An entry replaces the one of
// the same address ([lead.EmailKey]); of two in one call the last counts. People who opted
// out are not accepted. The error for an address that is not one says which entry it is,
// from 1.
func (l *Ledger) PutEntries(ctx context.Context, entries []DirectoryEntry) (put Put, err error) {
	rows, err := entryRows(l.persons, entries)
	if err == nil {
		err = l.writer.do(ctx, &write{run: func(ctx context.Context, s session) error {
			put = Put{}
			for chunk := range slices.Chunk(rows, acceptChunk) {
				if err := put.chunk(ctx, s, chunk); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	if err != nil {
		return Put{}, fmt.Errorf("put entries into the directory: %w", err)
	}
	return put, nil
}

// chunk writes rows and counts them.
func (p *Put) chunk(ctx context.Context, s session, chunk []entryRow) error {
	rows, err := withoutSuppressed(ctx, s, chunk, func(r entryRow) string { return r.Person })
	p.Suppressed += len(chunk) - len(rows)
	if err != nil || len(rows) == 0 {
		return err
	}
	table, err := jsonText(rows)
	if err != nil {
		return err
	}
	old, err := readOne(ctx, s, scanOne[int], countEntries, table)
	if err != nil {
		return err
	}
	p.Updated += old
	p.Inserted += len(rows) - old
	return s.exec(ctx, upsertEntries, table)
}

// entryRows makes rows of the entries, one for each address, in the order of keys.
func entryRows(h hasher, entries []DirectoryEntry) ([]entryRow, error) {
	byKey := make(map[string]entryRow, len(entries))
	for i, e := range entries {
		email, err := requireEmail(e.Email)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		profile, err := jsonText(e.Profile)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		key := lead.EmailKey(email)
		byKey[key] = entryRow{EmailKey: key, Email: email, Person: h.hash(lead.EmailPersonKey(email)), Profile: profile, AsOf: millis(lead.At(e.AsOf))}
	}
	rows := make([]entryRow, 0, len(byKey))
	for _, r := range byKey {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b entryRow) int { return strings.Compare(a.EmailKey, b.EmailKey) })
	return rows, nil
}

// LookupEntry returns what the directory knows about the person with an address, in any
// spelling, and when that was true. ok is false when it does not know the person.
func (l *Ledger) LookupEntry(ctx context.Context, email string) (p lead.Profile, asOf time.Time, ok bool, err error) {
	var at lead.Time
	p, err = readOne(ctx, l.reader(), func(r *sql.Rows) (p lead.Profile, err error) {
		var text string
		if err := r.Scan(&text, stamp{&at}); err != nil {
			return nil, err
		}
		err = decode("profile", text, &p)
		return p, err
	}, selectEntry, emailKey(email))
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, time.Time{}, false, nil
	case err != nil:
		return nil, time.Time{}, false, fmt.Errorf("look up a person in the directory: %w", err)
	}
	return p, at.Time, true, nil
}
