package ledger

import (
	"context"
	"errors"
	"fmt"

	"backstop/lead"
)

// This file remembers the people who opted out of processing, by the hashes of
// identity.go and nothing else. What is removed of them is in erase.go.

// The reasons of a suppression.
const (
	suppressedByProvider = "provider" // a provider said that the person opted out
	suppressedByRequest  = "request"  // they asked here
)

// ReasonSuppressed is the reason of an outcome that became suppressed because of
// what the ledger knew of the person.
const ReasonSuppressed = "the person asked not to be processed"

const (
	selectSuppressed = `SELECT person FROM suppressions WHERE person IN {list $1}`

	insertSuppressions = `INSERT INTO suppressions (person, at, reason)
SELECT person, at, reason FROM {rows $1: person text, at bigint, reason text} AS r
WHERE true
ON CONFLICT (person) DO NOTHING`
)

// suppressedScore is the score of every suppressed outcome: nothing is known, and
// nothing is missing.
var suppressedScore = lead.Outcome{Status: lead.StatusSuppressed}.Score()

// suppressedAmong is the set of those persons who opted out.
func suppressedAmong(ctx context.Context, s session, persons []string) (map[string]bool, error) {
	set := map[string]bool{}
	if len(persons) == 0 {
		return set, nil
	}
	list, err := jsonText(persons)
	if err != nil {
		return nil, err
	}
	found, err := readAll(ctx, s, scanOne[string], selectSuppressed, list)
	if err != nil {
		return nil, fmt.Errorf("look up who is suppressed: %w", err)
	}
	for _, person := range found {
		set[person] = true
	}
	return set, nil
}

// withoutSuppressed are those of the rows whose person did not opt out.
func withoutSuppressed[T any](ctx context.Context, s session, rows []T, person func(T) string) ([]T, error) {
	persons := make([]string, len(rows))
	for i, r := range rows {
		persons[i] = person(r)
	}
	suppressed, err := suppressedAmong(ctx, s, persons)
	if err != nil || len(suppressed) == 0 {
		return rows, err
	}
	var rest []T
	for i, r := range rows {
		if !suppressed[persons[i]] {
			rest = append(rest, r)
		}
	}
	return rest, nil
}

// IsSuppressed reports whether the person with an address, in any spelling, opted out.
// The error for what is not an address is a [*lead.FieldError].
func (l *Ledger) IsSuppressed(ctx context.Context, email string) (bool, error) {
	person, err := l.persons.required(email)
	if err != nil {
		return false, fmt.Errorf("look up whether a person is suppressed: %w", err)
	}
	set, err := suppressedAmong(ctx, l.reader(), []string{person})
	return set[person], err
}

// suppressionRow is a row of the table suppressions.
type suppressionRow struct {
	Person string `json:"person"`
	At     int64  `json:"at"`
	Reason string `json:"reason"`
}

// errNotAlone tells the writer that the transaction has found out that it must be
// alone, and is to be run again so.
var errNotAlone = errors.New("the write must be alone")

// remember keeps that the persons opted out. The transaction must be alone: otherwise
// a lead of theirs could be accepted or settled beside it.
func remember(ctx context.Context, s session, persons []string, reason string) error {
	if !s.alone {
		return errNotAlone
	}
	rows := make([]suppressionRow, len(persons))
	for i, person := range persons {
		rows[i] = suppressionRow{Person: person, At: s.at.Millis(), Reason: reason}
	}
	if err := writeRows(ctx, s, insertSuppressions, rows); err != nil {
		return fmt.Errorf("remember a suppression: %w", err)
	}
	return nil
}
