package ledger

import (
	"context"
	"fmt"

	"backstop/lead"
)

// This file erases people. Its table says what is removed when, and is what the code
// runs. What outlives everything: the sums in spending and the hashes in suppressions.

// An occasion is a reason to remove something; a set of them is their sum.
type occasion int

const (
	forgetting     occasion = 1 << iota // Forget: a person asked for it
	redacting                           // Settle, SaveAttempt, Open: a person turned out to have opted out (also 3d in doc.go)
	expiring                            // Expire: an outcome is too old
	expiringTrails                      // Expire: only the trail is
)

// A removal is one statement of an erasure.
type removal struct {
	on    occasion
	table string
	what  string
	query string
	args  func(erasure) []any
}

// removals are all that is ever erased, in the order in which it is done. The tables
// spending and suppressions are not among them.
var removals = []removal{
	// The person's leads: those that came with them, and those for which they were
	// found. Forget also takes those for which they were only mentioned.
	{forgetting | expiring | expiringTrails, "trail", "every entry",
		`DELETE FROM trail WHERE lead_id IN {list $1}`, erasure.byLeads},
	{forgetting | expiring, "outcomes", "the outcome",
		`DELETE FROM outcomes WHERE lead_id IN {list $1}`, erasure.byLeads},
	{forgetting | expiring, "leads", "the lead, and with it its mentions (ON DELETE CASCADE)",
		`DELETE FROM leads WHERE lead_id IN {list $1}`, erasure.byLeads},
	{expiringTrails, "outcomes", "nothing; the trail is marked as expired",
		`UPDATE outcomes SET trail_expired = TRUE WHERE lead_id IN {list $1}`, erasure.byLeads},
	{redacting, "leads", "all but source and source ID, progress, and hashes that are not the person's (an office's)",
		`UPDATE leads SET lead = r.lead, email_key = NULL, progress = NULL,
	person = CASE WHEN leads.person IN {list $2} THEN leads.person ELSE '' END
FROM {rows $1: lead_id text, lead text} AS r WHERE leads.lead_id = r.lead_id`, func(e erasure) []any { return []any{e.remains, e.persons} }},
	{redacting, "outcomes", "profile, missing fields and provenance: the outcome becomes suppressed",
		`UPDATE outcomes SET profile = '{}', missing = '[]', provenance = '{}', score = $2, status = 'suppressed',
	settled_at = CASE WHEN status = 'suppressed' THEN settled_at ELSE $3 END,
	reason = CASE WHEN status = 'suppressed' THEN reason ELSE $4 END
WHERE lead_id IN {list $1}`, func(e erasure) []any { return []any{e.leads, suppressedScore, e.at.Millis(), ReasonSuppressed} }},
	{redacting, "trail", "conflicts",
		`UPDATE trail SET conflicts = '' WHERE lead_id IN {list $1} AND conflicts <> ''`, erasure.byLeads},

	// Leads for which they were only mentioned: somebody else's, perhaps.
	{redacting, "trail", "conflicts",
		`UPDATE trail SET conflicts = '' WHERE conflicts <> '' AND lead_id IN (` + leadsMentioning + `)`, erasure.byPersons},
	{redacting, "leads", "progress, unless the lead is live and needs it",
		`UPDATE leads SET progress = NULL
WHERE progress IS NOT NULL AND settled_generation >= generation AND lead_id IN (` + leadsMentioning + `)`, erasure.byPersons},

	// The directory.
	{forgetting | redacting, "people", "the person's entries",
		`DELETE FROM people WHERE person IN {list $1}`, erasure.byPersons},
}

// An erasure is what a removal is about, as JSON.
type erasure struct {
	leads   string // IDs
	persons string // hashes
	remains string // of redacted leads: rows of ID and lead
	at      lead.Time
}

func (e erasure) byLeads() []any   { return []any{e.leads} }
func (e erasure) byPersons() []any { return []any{e.persons} }

// erase runs the removals of an occasion, and returns how many rows of each table were
// changed.
func (s session) erase(ctx context.Context, on occasion, leadIDs, persons []string, e erasure) (rows map[string]int, err error) {
	e.at = s.at
	if e.leads, err = jsonText(leadIDs); err != nil {
		return nil, err
	}
	if e.persons, err = jsonText(persons); err != nil {
		return nil, err
	}
	rows = map[string]int{}
	for _, r := range removals {
		if r.on&on == 0 {
			continue
		}
		n, err := s.count(ctx, r.query, r.args(e)...)
		if err != nil {
			return nil, fmt.Errorf("remove from %s: %w", r.table, err)
		}
		rows[r.table] += n
	}
	return rows, nil
}

// Erased is what [Ledger.Forget] did.
type Erased struct {
	Leads, Outcomes, TrailEntries, People int      // rows deleted
	Records                               []Record // the leads, as they were
}

// Forget deletes all leads of the person with an address, in any spelling
// ([Ledger.LeadsOf] lists them), with outcomes and trails, and their entry in the
// directory. It also remembers, even if nothing is known of them, that they are not to
// be accepted again: neither by the address nor by what the leads came with, so that
// they do not come back by name. If their address was only mentioned for a lead, the
// address that this lead came with is not remembered: the provider may have been wrong.
// All of this happens or, with an error, nothing; it may be repeated. The error for what
// is not an address is a [*lead.FieldError].
//
// A run of such a lead that is under way gets [ErrNotFound] from its writes. What was
// spent on the leads stays in [Ledger.Spent], but not what such a run spent and could
// not write.
//
// On SQLite the deleted data is overwritten in the file and its log before Forget
// returns or, if others are reading, soon after. The file is rebuilt for that, and
// nobody can write meanwhile; a file for which this takes longer than some seconds is
// left as it is, and may have copies in its unused space until it is vacuumed. On
// PostgreSQL the data stays in dead rows until the next vacuum, and in the server's
// log and backups for as long as these are kept.
func (l *Ledger) Forget(ctx context.Context, email string) (Erased, error) {
	person, err := l.persons.required(email)
	if err != nil {
		return Erased{}, fmt.Errorf("forget a person: %w", err)
	}
	var erased Erased
	err = l.writer.do(ctx, &write{alone: true, erases: true, purges: true, run: func(ctx context.Context, s session) (err error) {
		erased, err = forget(ctx, s, person)
		return err
	}})
	if err != nil {
		return Erased{}, fmt.Errorf("forget a person: %w", err) // erased may still be written to
	}
	return erased, nil
}

func forget(ctx context.Context, s session, person string) (Erased, error) {
	records, persons, err := recordsOf(ctx, s, person)
	if err != nil {
		return Erased{}, fmt.Errorf("find the leads: %w", err)
	}
	if err := remember(ctx, s, persons, suppressedByRequest); err != nil {
		return Erased{}, err
	}
	rows, err := s.erase(ctx, forgetting, idsOf(records), persons, erasure{})
	return Erased{Leads: rows["leads"], Outcomes: rows["outcomes"], TrailEntries: rows["trail"], People: rows["people"], Records: records}, err
}

const leadsToRedact = selectRecords + `WHERE l.lead_id IN (` + leadsOfPersons + `
	UNION SELECT k.lead_id FROM leads k WHERE k.lead_id = $2) ORDER BY l.lead_id`

// redact remembers a person, known by any of the hashes, with all aliases, and removes
// them from their leads, from the lead given, and from the directory. It returns the
// person's other leads as they were. Live leads stay live, for their workers to settle.
func redact(ctx context.Context, s session, leadID string, persons []string) (others []Record, err error) {
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
	records, err := readAll(ctx, s, scanRecord, leadsToRedact, list, leadID)
	if err != nil {
		return nil, fmt.Errorf("find the person's leads: %w", err)
	}
	if err := remember(ctx, s, persons, suppressedByProvider); err != nil {
		return nil, err
	}
	remains, err := withoutPersons(records)
	if err != nil {
		return nil, err
	}
	if _, err := s.erase(ctx, redacting, idsOf(records), persons, erasure{remains: remains}); err != nil {
		return nil, fmt.Errorf("redact the person's leads: %w", err)
	}
	for _, r := range records {
		if r.LeadID != leadID {
			others = append(others, r)
		}
	}
	return others, nil
}

// redactedRow is a lead without its person.
type redactedRow struct {
	LeadID string `json:"lead_id"`
	Lead   string `json:"lead"`
}

// withoutPersons are rows of what remains of the leads, as JSON.
func withoutPersons(records []Record) (string, error) {
	rows := make([]redactedRow, len(records))
	for i, r := range records {
		text, err := jsonText(lead.Lead{Source: r.Lead.Source, SourceID: r.Lead.SourceID})
		if err != nil {
			return "", err
		}
		rows[i] = redactedRow{LeadID: r.LeadID, Lead: text}
	}
	return jsonText(rows)
}

// idsOf lists the IDs of leads.
func idsOf(records []Record) []string {
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.LeadID
	}
	return ids
}
