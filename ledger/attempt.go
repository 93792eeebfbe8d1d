package ledger

import (
	"context"
	"encoding/hex"
	"fmt"

	"backstop/lead"
)

// This file is where a write begins that saves an attempt, and how it edits its lead
// (steps 1 and 3b in doc.go).

// An Attempt is what a run of a lead leaves when it does not settle it.
type Attempt struct {
	LeadID     string
	Generation int
	StartedAt  lead.Time // when work on this generation began; the first one saved stays
	Retries    int       // retries used so far
	Progress   []byte    // what the next attempt must know; nil leaves what is there
	Trail      []lead.TrailEntry
	Version    int64 // the Record.Version that the run began from; 0: not fenced

	// Found are the addresses that providers named for the lead's person in this attempt
	// or earlier, whether they were taken, not taken, or said to be invalid; but no role
	// addresses ([lead.IsRoleAddress]). The ledger keeps their hashes.
	Found []string
}

// SaveAttempt appends to a lead's trail, keeps what its next attempt must know, and
// returns the lead's new version once all of it is durable. An attempt of another
// generation than the lead's current one only extends the trail. For a lead that is
// not there the error is [ErrNotFound].
//
// If the run was overtaken, because the lead has another version than the run began
// from, the attempt only extends the trail (the calls in it were made), and the error
// is [ErrStale]. An attempt that is saved again because the answer was lost is neither
// stale nor written twice.
//
// No progress is kept for people who opted out, and no conflicts for a lead for which
// a provider named one of them.
func (l *Ledger) SaveAttempt(ctx context.Context, a Attempt) (version int64, err error) {
	e := &attemptEdit{Attempt: a}
	c := &change{leadID: a.LeadID, trail: a.Trail, mentioned: l.persons.mentioned(a.Found), editor: e}
	if c.fence, err = newFence("record", a.Generation, a.Version, a); err == nil {
		err = l.writer.do(ctx, &write{change: c})
	}
	if err != nil {
		return 0, fmt.Errorf("save attempt of %s: %w", a.LeadID, err) // e may still be written to
	}
	return e.version, nil
}

// attemptEdit is how an attempt changes its lead.
type attemptEdit struct {
	Attempt
	version int64 // the lead's afterwards
}

func (e *attemptEdit) edit(r *row, c *change) fate {
	f := r.admit(c.fence)
	if e.Version == 0 {
		f = unsure
	}
	if f != repeated && f != stale && e.Generation == r.generation {
		e.save(r)
	}
	e.version = r.Version
	return f
}

func (e *attemptEdit) save(r *row) {
	if e.Version == 0 {
		r.Version++
	}
	r.start(e.StartedAt)
	r.Retries = e.Retries
	if e.Progress != nil && !r.isSuppressed() {
		text := hex.EncodeToString(e.Progress)
		r.Progress = &text
	}
}
