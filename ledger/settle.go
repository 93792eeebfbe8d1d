package ledger

import (
	"context"
	"errors"
	"fmt"

	"backstop/lead"
)

// This file is where a write begins that settles a lead, and how it edits the lead
// (steps 1 and 3b in doc.go).

// A Settlement says how a generation of a lead ended.
type Settlement struct {
	LeadID     string
	Generation int
	Status     lead.Status
	Reason     string
	Facts      lead.Facts
	Missing    []lead.Field
	StartedAt  lead.Time // used when no attempt was saved before
	Retries    int
	Fallback   bool              // settled by the fallback task
	Trail      []lead.TrailEntry // the entries that are not saved yet
	Version    int64             // the Record.Version that the run began from; 0: not fenced
	Found      []string          // as in an [Attempt]
}

// A Path says how a lead came to its outcome.
type Path string

// The paths.
const (
	PathDirect   Path = "direct"   // without a retry
	PathRetried  Path = "retried"  // after at least one retry
	PathFallback Path = "fallback" // settled by the fallback task
)

// Path is how the lead came to the outcome.
func (s Settlement) Path() Path {
	switch {
	case s.Fallback:
		return PathFallback
	case s.Retries > 0:
		return PathRetried
	}
	return PathDirect
}

// Settled is what a settlement did.
type Settled struct {
	Applied bool        // it is the lead's outcome now; otherwise a better or equal one was there
	Status  lead.Status // of the outcome after the call
	First   bool        // the lead had no outcome before

	// Others are the person's other leads, which were redacted because the person opted
	// out, as they were before. When a settlement is repeated they are as they are then.
	Others []Record
}

// Settle ends a generation of a lead. The outcome becomes the lead's current one if
// its [lead.Outcome.Score] is higher than that of the present one; the trail is extended
// and the generation is settled in any case. Settle returns once all of that is durable.
// For a lead that is not there the error is [ErrNotFound].
//
// If the run was overtaken, the settlement only extends the trail; Settle returns the
// status that is there, and [ErrStale]. A settlement that is not fenced overtakes nobody:
// after the fallback's the enrichment, which may still be in a call, can raise the
// outcome. A settlement that is repeated because the answer was lost is not written
// twice, and says that it was applied if the current outcome has its score.
//
// When the person opted out, because s says so or because the ledger knows it of the
// lead's person or of the address in the profile, the outcome is suppressed and holds
// nothing. The person is remembered by what the lead came with and by what was found; if
// s says so, also by all of Found. At the same moment everything that names the person
// is removed from all their leads (erase.go says what exactly), also from those that
// share name and company with one of these. Their leads that are settled have a
// suppressed outcome from then on; those that are live stay live, and must be settled
// without asking anybody ([Record.Suppressed]). Even a run that was overtaken does all
// this, except settling.
//
// A lead for which the person's address was only mentioned may be somebody else's. It
// keeps its outcome, and loses the conflicts in its trail and, once it is settled, its
// progress.
func (l *Ledger) Settle(ctx context.Context, s Settlement) (Settled, error) {
	done, err := l.settle(ctx, s)
	if err != nil {
		return done, fmt.Errorf("settle %s: %w", s.LeadID, err)
	}
	return done, nil
}

func (l *Ledger) settle(ctx context.Context, s Settlement) (Settled, error) {
	o, err := l.newOutcomeRow(s)
	if err != nil {
		return Settled{}, err
	}
	e := &settleEdit{Settlement: s, outcome: o}
	c := &change{
		leadID: s.LeadID, trail: s.Trail, person: o.Person, mentioned: l.persons.mentioned(s.Found),
		alone: s.Status == lead.StatusSuppressed, editor: e,
	}
	if c.fence, err = newFence("settle", s.Generation, s.Version, s); err != nil {
		return Settled{}, err
	}
	err = l.writer.do(ctx, &write{change: c})
	if err != nil && !errors.Is(err, ErrStale) {
		return Settled{}, err // e and c may still be written to
	}
	done := e.done
	if c.repeated {
		done = e.before
	}
	done.Others = c.others
	return done, err
}

// newOutcomeRow encodes what a settlement says, here and not in the writer, so
// that what cannot be encoded fails before it shares a transaction with others.
func (l *Ledger) newOutcomeRow(s Settlement) (o outcomeRow, err error) {
	if s.Missing == nil {
		s.Missing = []lead.Field{}
	}
	if s.Facts.Provenance == nil {
		s.Facts.Provenance = map[lead.Field]lead.Origin{}
	}
	o = outcomeRow{
		LeadID: s.LeadID, Status: s.Status, Reason: plain(s.Reason), Retries: s.Retries, Fallback: s.Fallback,
		Score: lead.Outcome{Status: s.Status, Missing: s.Missing, Profile: s.Facts.Profile}.Score(),
	}
	if email := s.Facts.Profile[lead.PersonEmail]; email != "" {
		o.Person = l.persons.address(email)
	}
	if s.Status == lead.StatusSuppressed {
		return o.withoutPerson(o.Reason), nil
	}
	var errs [3]error
	o.Profile, errs[0] = jsonText(s.Facts.Profile)
	o.Missing, errs[1] = jsonText(s.Missing)
	o.Provenance, errs[2] = jsonText(s.Facts.Provenance)
	return o, errors.Join(errs[:]...)
}

// withoutPerson is a suppressed outcome in place of o.
func (o outcomeRow) withoutPerson(reason string) outcomeRow {
	o.Status, o.Score, o.Reason = lead.StatusSuppressed, suppressedScore, reason
	o.Profile, o.Missing, o.Provenance = "{}", "[]", "{}"
	return o
}

// settleEdit is how a settlement changes its lead.
type settleEdit struct {
	Settlement
	outcome outcomeRow
	done    Settled // what it did
	before  Settled // what it had done, if it turns out to be a repetition
}

func (e *settleEdit) edit(r *row, c *change) fate {
	o := e.outcome
	if o.Status != lead.StatusSuppressed && (r.isSuppressed() || r.suppressed[o.Person]) {
		o = o.withoutPerson(ReasonSuppressed)
	}
	current := r.status == o.Status && r.score == o.Score
	e.before = Settled{Applied: current, Status: r.status, First: current && r.settled.Equal(r.firstSettled.Time)}
	e.done = Settled{Status: r.status}
	f := r.admit(c.fence)
	if f == fresh {
		if e.Version == 0 && r.SettledGeneration >= e.Generation {
			f = unsure
		}
		e.settle(r, o, c.at)
	}
	if o.Status == lead.StatusSuppressed {
		found := []string{o.Person}
		if e.Status == lead.StatusSuppressed {
			found = append(found, c.mentioned...)
		}
		r.suppress(c, found)
		e.done.Status = r.status
	}
	return f
}

// settle is the compare-and-set, on a row that is locked.
func (e *settleEdit) settle(r *row, o outcomeRow, at lead.Time) {
	started := e.StartedAt
	if e.Generation == r.generation {
		r.start(e.StartedAt)
		r.Retries = e.Retries
		started = r.started
	}
	r.SettledGeneration = max(r.SettledGeneration, e.Generation)
	first := r.status == ""
	if !first && o.Score <= r.score {
		return
	}
	if first {
		r.firstSettled = at
	}
	o.AcceptedAt, o.StartedAt, o.FirstSettledAt, o.SettledAt = r.acceptedAt, millis(started), millis(r.firstSettled), millis(at)
	if o.Person == r.person {
		o.Person = ""
	}
	r.status, r.score, r.settled, r.outcome = o.Status, o.Score, at, &o
	e.done = Settled{Applied: true, Status: o.Status, First: first}
}
