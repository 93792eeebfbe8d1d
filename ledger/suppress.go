package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"backstop/lead"
)

// The reasons of a suppression.
const (
	suppressedByProvider = "provider" // a provider said that the person asked not to be processed
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

	leadsToRedact = selectRecords + `WHERE l.lead_id IN (` + leadsOfPersons + `
	UNION SELECT k.lead_id FROM leads k WHERE k.lead_id = $2) ORDER BY l.lead_id`

	// What only names the person goes from the leads for which an address of theirs
	// was only named; what is live still needs its progress.
	redactSightedTrails = `UPDATE trail SET conflicts = '' WHERE conflicts <> '' AND lead_id IN (` + leadsSighting + `)`
	redactSightedLeads  = `UPDATE leads SET progress = NULL
WHERE progress IS NOT NULL AND settled_generation >= generation AND lead_id IN (` + leadsSighting + `)`

	// What is not the person's, an office's address, does not stay as their hash.
	redactLeads = `UPDATE leads SET lead = r.lead, email_key = NULL, progress = NULL,
	person = CASE WHEN leads.person IN {list $2} THEN leads.person ELSE '' END
FROM {rows $1: lead_id text, lead text} AS r WHERE leads.lead_id = r.lead_id`

	redactOutcomes = `UPDATE outcomes SET profile = '{}', missing = '[]', provenance = '{}', score = $2, status = 'suppressed',
	settled_at = CASE WHEN status = 'suppressed' THEN settled_at ELSE $3 END,
	reason = CASE WHEN status = 'suppressed' THEN reason ELSE $4 END
WHERE lead_id IN {list $1}`

	redactTrails = `UPDATE trail SET conflicts = '' WHERE lead_id IN {list $1} AND conflicts <> ''`

	deletePeople = `DELETE FROM people WHERE person IN {list $1}`
)

// suppressedScore is the score of every suppressed outcome: nothing is known, and
// nothing is missing.
var suppressedScore = lead.Outcome{Status: lead.StatusSuppressed}.Score()

// suppressedAmong is the set of those persons who asked not to be processed.
func suppressedAmong(ctx context.Context, s session, persons []string) (map[string]bool, error) {
	set := map[string]bool{}
	if len(persons) == 0 {
		return set, nil
	}
	list, err := jsonText(persons)
	if err != nil {
		return nil, err
	}
	found, err := readAll(ctx, s, scanText, selectSuppressed, list)
	if err != nil {
		return nil, fmt.Errorf("look who is suppressed: %w", err)
	}
	for _, person := range found {
		set[person] = true
	}
	return set, nil
}

// welcome are those of the rows whose person did not ask not to be processed.
func welcome[T any](ctx context.Context, s session, rows []T, person func(T) string) ([]T, error) {
	persons := make([]string, len(rows))
	for i, r := range rows {
		persons[i] = person(r)
	}
	away, err := suppressedAmong(ctx, s, persons)
	if err != nil || len(away) == 0 {
		return rows, err
	}
	var taken []T
	for i, r := range rows {
		if !away[persons[i]] {
			taken = append(taken, r)
		}
	}
	return taken, nil
}

// IsSuppressed reports whether the person with an address, in any spelling, asked
// not to be processed. The error for an address that is none is a [*lead.FieldError].
func (l *Ledger) IsSuppressed(ctx context.Context, email string) (bool, error) {
	person, err := l.persons.asked(email)
	if err != nil {
		return false, fmt.Errorf("look whether a person is suppressed: %w", err)
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

// remember keeps that the persons asked not to be processed. The transaction must
// be alone: otherwise a lead of theirs could be accepted or settled beside it.
func remember(ctx context.Context, s session, persons []string, at lead.Time, reason string) error {
	if !s.alone {
		return errNotAlone
	}
	rows := make([]suppressionRow, len(persons))
	for i, person := range persons {
		rows[i] = suppressionRow{Person: person, At: at.Millis(), Reason: reason}
	}
	if err := writeRows(ctx, s, insertSuppressions, rows); err != nil {
		return fmt.Errorf("remember a suppression: %w", err)
	}
	return nil
}

// errNotAlone is for the writer: the transaction has found out that it must be
// alone, and is to be run again so.
var errNotAlone = errors.New("the write must be alone")

// redactedRow is a lead without its person.
type redactedRow struct {
	LeadID string `json:"lead_id"`
	Lead   string `json:"lead"`
}

// redact remembers a person, known by any of the hashes, with all the hashes by which
// their leads name them, and removes them from these leads and from the one given, and
// from the directory. What is settled becomes a suppressed outcome; what is live stays
// so, for its worker to settle it. From leads for which their address was only named
// it removes what names them there. It returns the person's other leads as they stood.
func redact(ctx context.Context, s session, leadID string, persons []string, at lead.Time) (others []Record, err error) {
	if !s.alone {
		return nil, errNotAlone
	}
	if persons, err = withAliases(ctx, s, persons, aliases); err != nil {
		return nil, err
	}
	list, err := jsonText(persons)
	if err != nil {
		return nil, err
	}
	records, err := readAll(ctx, s, scanErased, leadsToRedact, list, leadID)
	if err != nil {
		return nil, fmt.Errorf("find the person's leads: %w", err)
	}
	if err := remember(ctx, s, persons, at, suppressedByProvider); err != nil {
		return nil, err
	}
	table, ids, err := withoutPersons(records)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		s.exec(ctx, redactLeads, table, list),
		s.exec(ctx, redactOutcomes, ids, suppressedScore, at.Millis(), ReasonSuppressed),
		s.exec(ctx, redactTrails, ids),
		s.exec(ctx, redactSightedTrails, list),
		s.exec(ctx, redactSightedLeads, list),
		s.exec(ctx, deletePeople, list),
	)
	if err != nil {
		return nil, fmt.Errorf("redact the person's leads: %w", err)
	}
	for _, r := range records {
		if r.LeadID != leadID {
			others = append(others, r)
		}
	}
	return others, nil
}

// withoutPersons are rows of what stays of the leads, and their IDs, as JSON.
func withoutPersons(records []Record) (rows, ids string, err error) {
	var (
		redacted = make([]redactedRow, len(records))
		list     = make([]string, len(records))
	)
	for i, r := range records {
		text, err := jsonText(lead.Lead{Source: r.Lead.Source, SourceID: r.Lead.SourceID})
		if err != nil {
			return "", "", err
		}
		redacted[i], list[i] = redactedRow{LeadID: r.LeadID, Lead: text}, r.LeadID
	}
	if rows, err = jsonText(redacted); err != nil {
		return "", "", err
	}
	ids, err = jsonText(list)
	return rows, ids, err
}

// isSuppressed reports whether the person of a locked lead asked not to be
// processed, as far as this transaction knows.
func (r *row) isSuppressed() bool {
	return r.erased || r.status == lead.StatusSuppressed || r.suppressed[r.person] || r.suppressed[r.outcomePerson]
}

// suppress notes that the lead's person, who may also be known by found addresses,
// asked not to be processed; [change.redact] does the rest when all is written.
func (r *row) suppress(c *change, found ...string) {
	r.erased = true
	if r.status != "" {
		r.status, r.score = lead.StatusSuppressed, suppressedScore
	}
	c.suppresses = []string{}
	for _, person := range append([]string{r.person, r.outcomePerson}, found...) {
		if person != "" && !slices.Contains(c.suppresses, person) {
			c.suppresses = append(c.suppresses, person)
			r.suppressed[person] = true
		}
	}
	c.erases = true
}

// redact completes a settlement that found out that a person is suppressed.
func (c *change) redact(ctx context.Context, s session) (err error) {
	c.others, err = redact(ctx, s, c.leadID, c.suppresses, c.at)
	return err
}
