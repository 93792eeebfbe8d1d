package ledger

import "slices"

// A sightingRow is a row of the table sightings: a provider named an address for a
// lead's person, whether or not it was taken. By it the ledger finds leads that name
// somebody in their trail or progress only. It is no proof: the provider may have meant
// somebody else.
type sightingRow struct {
	Person string `json:"person"`
	LeadID string `json:"lead_id"`
}

const (
	insertSightings = `INSERT INTO sightings (person, lead_id)
SELECT person, lead_id FROM {rows $1: person text, lead_id text} AS r
WHERE true
ON CONFLICT (person, lead_id) DO NOTHING`

	// sighted is a condition on a row of leads: somebody who asked not to be processed
	// was named for it.
	sighted = `EXISTS (SELECT 1 FROM sightings g JOIN suppressions s ON s.person = g.person WHERE g.lead_id = leads.lead_id)`

	// leadsSighting selects the leads for which a provider named an address of persons.
	leadsSighting = `SELECT g.lead_id FROM sightings g WHERE g.person IN {list $1}`

	clearProgress = `UPDATE leads SET progress = NULL WHERE progress IS NOT NULL AND lead_id IN {list $1}`
)

// found are the hashes of the persons with the addresses, each once.
func (h hasher) found(addresses []string) (persons []string) {
	for _, a := range addresses {
		if person := h.address(a); person != "" && !slices.Contains(persons, person) {
			persons = append(persons, person)
		}
	}
	return persons
}

// sight notes whom a change names for the lead besides the lead's own address. Who
// asked not to be processed is not to stay in what the change writes.
func (r *row) sight(c *change) {
	for _, person := range c.found {
		if person == r.person {
			continue
		}
		r.sightings = append(r.sightings, sightingRow{Person: person, LeadID: r.LeadID})
		r.sighted = r.sighted || r.suppressed[person]
	}
}

// keepsConflicts reports whether what an answer said besides may be written to the
// lead's trail.
func (r *row) keepsConflicts() bool { return !r.isSuppressed() && !r.sighted }

// keepsProgress reports whether the lead's progress may stay: a run that is under way
// needs it, whoever is named in it.
func (r *row) keepsProgress() bool { return !r.sighted || r.SettledGeneration < r.generation }
