package ledger

import (
	"context"
	"errors"
	"fmt"

	"backstop/lead"
)

// An Attempt is what an attempt at a lead leaves when it does not settle it.
type Attempt struct {
	LeadID     string
	Generation int
	StartedAt  lead.Time // when work on this generation began; the first one recorded stays
	Retries    int       // retries used so far
	Progress   []byte    // what the next attempt must know; nil leaves what is there
	Trail      []lead.TrailEntry
	Version    int64 // the Record.Version that the run began from; 0: not fenced

	// Found are the addresses that providers named for the lead's person in this attempt
	// or earlier, whether they were taken, not taken, or said to be invalid; but no role
	// addresses ([lead.IsRoleAddress]). The ledger keeps their hashes.
	Found []string
}

// Record appends to a lead's trail, keeps what its next attempt must know, and
// returns the lead's new version. An attempt of another generation than the lead's
// current one only extends the trail. It returns when the record is durable; a lead
// that is not there is [ErrNotFound].
//
// The record of a run that was overtaken, because the lead has another version than
// the run began from, only extends the trail: the calls in it were made. The error
// is [ErrStale]. A record that is repeated because the answer to it was lost is
// neither stale nor written twice.
//
// Of a lead whose person asked not to be processed no progress is kept, and no
// conflicts of one for which somebody was named who did.
func (l *Ledger) Record(ctx context.Context, a Attempt) (version int64, err error) {
	fenced, err := newFence("record", a.Generation, a.Version, a)
	if err != nil {
		return 0, fmt.Errorf("record attempt of %s: %w", a.LeadID, err)
	}
	var after int64
	c := &change{leadID: a.LeadID, at: lead.At(l.now()), trail: a.Trail, found: l.persons.found(a.Found), edit: func(r *row) fate {
		f := r.record(a, fenced)
		after = r.Version
		return f
	}}
	if err := l.writer.do(ctx, &write{change: c}); err != nil {
		return 0, fmt.Errorf("record attempt of %s: %w", a.LeadID, err)
	}
	return after, nil
}

func (r *row) record(a Attempt, fenced fence) fate {
	f := r.admit(fenced)
	if a.Version == 0 {
		f = unsure
	}
	if f == repeated || f == stale || a.Generation != r.generation {
		return f
	}
	if a.Version == 0 {
		r.Version++
	}
	r.start(a.StartedAt)
	r.Retries = a.Retries
	if a.Progress != nil && !r.isSuppressed() {
		r.Progress = a.Progress
	}
	return f
}

// A Settlement says how a generation of a lead ended.
type Settlement struct {
	LeadID     string
	Generation int
	Status     lead.Status
	Reason     string
	Facts      lead.Facts
	Missing    []lead.Field
	StartedAt  lead.Time // used when no attempt was recorded before
	Retries    int
	Fallback   bool              // settled by the fallback task
	Trail      []lead.TrailEntry // the entries that are not recorded yet
	Version    int64             // the Record.Version that the run began from; 0: not fenced
	Found      []string          // as in an [Attempt]
}

// Settled is what a settlement did.
type Settled struct {
	Applied bool        // it is the lead's outcome now; otherwise a better or equal one was there
	Status  lead.Status // of the outcome after the call
	First   bool        // the lead had no outcome before

	// Others are the person's other leads, which were redacted because the person asked
	// not to be processed, as they stood before. To the repetition of a settlement they
	// are as they are then.
	Others []Record
}

// Settle ends a generation of a lead. The outcome becomes the lead's current one
// if its [lead.Outcome.Score] is higher than the one's that is there; the trail is
// extended and the generation is settled in any case. It returns when all of that
// is durable; a lead that is not there is [ErrNotFound].
//
// The settlement of a run that was overtaken only extends the trail; it returns
// the status that is there, and [ErrStale]. One that is not fenced does not overtake
// anybody: the fallback's leaves the enrichment, which may still be in its call, the
// right to raise the outcome. A settlement that is repeated because the answer to it
// was lost is not written twice, and says that it was applied if an outcome of its
// score is the current one.
//
// When a person asked not to be processed, because s says so, or because the ledger
// knows that of the lead's person or of the address in the profile, the outcome is
// suppressed, and holds nothing. The person is remembered, by what the lead came with
// and by what was found: if s says so, by all of Found. The lead and all others of the
// person, and those that share name and company with one of these, lose in the same
// moment what names them: what they came with but for source and source ID, what was
// found, and progress. Those that are settled have a suppressed outcome from then on.
// Those that are live stay so, and are to be settled without asking anybody
// ([Record.Suppressed]). Even a run that was overtaken does all this but settle.
//
// A lead for which the person's address was only named may be somebody else's. It
// keeps its outcome, and loses the conflicts in its trail and, once it is settled, its
// progress.
func (l *Ledger) Settle(ctx context.Context, s Settlement) (Settled, error) {
	o, err := l.newOutcomeRow(s)
	if err != nil {
		return Settled{}, fmt.Errorf("settle %s: %w", s.LeadID, err)
	}
	fenced, err := newFence("settle", s.Generation, s.Version, s)
	if err != nil {
		return Settled{}, fmt.Errorf("settle %s: %w", s.LeadID, err)
	}
	var result, before Settled
	c := &change{leadID: s.LeadID, at: lead.At(l.now()), trail: s.Trail, person: o.Person, found: l.persons.found(s.Found), alone: s.Status == lead.StatusSuppressed}
	c.edit = func(r *row) fate {
		as := o
		if o.Status != lead.StatusSuppressed && (r.isSuppressed() || r.suppressed[o.Person]) {
			as = o.withoutPerson(ReasonSuppressed)
		}
		before = r.settledAs(as)
		f := r.admit(fenced)
		switch {
		case f == repeated || f == stale:
			result = Settled{Status: r.status}
		default:
			if s.Version == 0 && r.SettledGeneration >= s.Generation {
				f = unsure
			}
			result = r.settle(s, as, lead.At(l.now()))
		}
		switch {
		case s.Status == lead.StatusSuppressed:
			r.suppress(c, append([]string{o.Person}, c.found...)...)
			result.Status = r.status
		case as.Status == lead.StatusSuppressed:
			r.suppress(c, o.Person)
			result.Status = r.status
		}
		return f
	}
	err = l.writer.do(ctx, &write{change: c})
	switch {
	case errors.Is(err, ErrStale):
		result.Others = c.others
		return result, fmt.Errorf("settle %s: %w", s.LeadID, err)
	case err != nil: // result may still be written to
		return Settled{}, fmt.Errorf("settle %s: %w", s.LeadID, err)
	case c.repeated:
		result = before
	}
	result.Others = c.others
	return result, nil
}

// settledAs is what the settlement did that led to an outcome like o, if that is
// the current one.
func (r *row) settledAs(o outcomeRow) Settled {
	is := r.status == o.Status && r.score == o.Score
	return Settled{Applied: is, Status: r.status, First: is && r.settled.Equal(r.firstSettled.Time)}
}

// newOutcomeRow encodes what a settlement says, here and not in the writer, so
// that what cannot be encoded fails before it has companions.
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
	if o.Profile, err = jsonText(s.Facts.Profile); err != nil {
		return o, err
	}
	if o.Missing, err = jsonText(s.Missing); err != nil {
		return o, err
	}
	o.Provenance, err = jsonText(s.Facts.Provenance)
	return o, err
}

// withoutPerson is a suppressed outcome in place of o.
func (o outcomeRow) withoutPerson(reason string) outcomeRow {
	o.Status, o.Score, o.Reason = lead.StatusSuppressed, suppressedScore, reason
	o.Profile, o.Missing, o.Provenance = "{}", "[]", "{}"
	return o
}

// settle is the compare-and-set, on a row that is locked.
func (r *row) settle(s Settlement, o outcomeRow, at lead.Time) Settled {
	started := s.StartedAt
	if s.Generation == r.generation {
		r.start(s.StartedAt)
		r.Retries = s.Retries
		started = r.started
	}
	r.SettledGeneration = max(r.SettledGeneration, s.Generation)
	first := r.status == ""
	if !first && o.Score <= r.score {
		return Settled{Status: r.status}
	}
	if first {
		r.firstSettled = at
	}
	o.AcceptedAt, o.StartedAt, o.FirstSettledAt, o.SettledAt = r.acceptedAt, millis(started), millis(r.firstSettled), millis(at)
	if o.Person == r.person {
		o.Person = ""
	}
	r.status, r.score, r.settled, r.outcome = o.Status, o.Score, at, &o
	return Settled{Applied: true, Status: o.Status, First: first}
}
