package ledger

import (
	"context"
	"fmt"
	"time"

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
}

// Record appends to a lead's trail and keeps what its next attempt must know. An
// attempt of another generation than the lead's current one only extends the
// trail. It returns when the record is durable; a lead that is not there is
// [ErrNotFound].
func (l *Ledger) Record(ctx context.Context, a Attempt) error {
	c := &change{leadID: a.LeadID, trail: a.Trail, edit: func(r *row) {
		if a.Generation != r.generation {
			return
		}
		r.start(a.StartedAt)
		r.Retries = a.Retries
		if a.Progress != nil {
			r.Progress = a.Progress
		}
	}}
	if err := l.writer.do(ctx, &write{change: c}); err != nil {
		return fmt.Errorf("record attempt of %s: %w", a.LeadID, err)
	}
	return nil
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
}

// Settled is what a settlement did.
type Settled struct {
	Applied bool        // it is the lead's outcome now; otherwise a better or equal one was there
	Status  lead.Status // of the outcome after the call
	First   bool        // the lead had no outcome before
}

// Settle ends a generation of a lead. The outcome becomes the lead's current one
// if its [lead.Outcome.Score] is higher than the one's that is there; the trail is
// extended and the generation is settled in any case. It returns when all of that
// is durable; a lead that is not there is [ErrNotFound].
func (l *Ledger) Settle(ctx context.Context, s Settlement) (Settled, error) {
	o, err := newOutcomeRow(s)
	if err != nil {
		return Settled{}, fmt.Errorf("settle %s: %w", s.LeadID, err)
	}
	var result Settled
	c := &change{leadID: s.LeadID, trail: s.Trail, edit: func(r *row) {
		result = r.settle(s, o, l.now())
	}}
	if err := l.writer.do(ctx, &write{change: c}); err != nil {
		return Settled{}, fmt.Errorf("settle %s: %w", s.LeadID, err) // result may still be written to
	}
	return result, nil
}

// newOutcomeRow encodes what a settlement says, here and not in the writer, so
// that what cannot be encoded fails before it has companions.
func newOutcomeRow(s Settlement) (o outcomeRow, err error) {
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
	if o.Profile, err = jsonText(s.Facts.Profile); err != nil {
		return o, err
	}
	if o.Missing, err = jsonText(s.Missing); err != nil {
		return o, err
	}
	o.Provenance, err = jsonText(s.Facts.Provenance)
	return o, err
}

// settle is the compare-and-set, on a row that is locked.
func (r *row) settle(s Settlement, o outcomeRow, now time.Time) Settled {
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
	at := lead.At(now)
	if first {
		r.firstSettled = at
	}
	o.AcceptedAt, o.StartedAt, o.FirstSettledAt, o.SettledAt = r.acceptedAt, millis(started), millis(r.firstSettled), millis(at)
	r.status, r.score, r.outcome = o.Status, o.Score, &o
	return Settled{Applied: true, Status: o.Status, First: first}
}
