package chain

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"backstop/lead"
	"backstop/providers"
	"backstop/resilience"
)

// Progress is what a lead remembers between walks. It is stored in the ledger
// after each walk that changed it, never before a call: a crash during a call
// therefore uses up no retry.
type Progress struct {
	Generation int        `json:"generation"`          // the run of the lead that this belongs to
	StartedAt  lead.Time  `json:"started_at"`          // when a worker first took the lead
	Attempt    int        `json:"attempt,omitempty"`   // walks that made or skipped a call
	Retries    int        `json:"retries,omitempty"`   // retries used up: those whose call was made
	RetryOf    string     `json:"retry_of,omitempty"`  // the provider that the lead is put back for
	FailedAt   lead.Time  `json:"failed_at,omitempty"` // when the first failed call began: the budget runs from here
	Armed      bool       `json:"armed,omitempty"`     // the fallback is scheduled
	Due        lead.Time  `json:"due,omitempty"`       // no walk before
	Ended      Kind       `json:"ended,omitempty"`     // how the chain ended, once it did
	Heard      bool       `json:"heard,omitempty"`     // a provider gave data
	Crashes    int        `json:"crashes,omitempty"`   // runs that ended without a word
	Facts      lead.Facts `json:"facts"`
	Found      []string   `json:"found,omitempty"` // addresses that providers named for the person, taken or not

	Asked map[string]*Asked `json:"asked,omitempty"` // by provider

	// QueuedAt is when this run was put on the queue, as its owner knows it. Unlike
	// StartedAt it is the same for a worker that begins again because the one before
	// died without a word. It may be zero, and is not stored.
	QueuedAt lead.Time `json:"-"`
}

// Asked is what is known of one provider for one lead.
type Asked struct {
	Answered     []string   `json:"answered,omitempty"`      // endpoints that gave a final answer
	Over         lead.Class `json:"over,omitempty"`          // not asked again; the class that decided it
	Failed       bool       `json:"failed,omitempty"`        // its last call failed: the next one is a retry
	PendingSince lead.Time  `json:"pending_since,omitempty"` // the first "still being looked up"
	Pendings     int        `json:"pendings,omitempty"`
	RateLimited  int        `json:"rate_limited,omitempty"` // times it said "too fast" to this lead
	Billed       []string   `json:"billed,omitempty"`       // endpoints whose answer was paid for while it was pending

	Tickets map[string]string `json:"tickets,omitempty"` // of pending answers, by endpoint
}

// NewProgress is the progress of a lead that nobody has worked on yet.
func NewProgress(l lead.Lead, generation int, now time.Time) *Progress {
	p := &Progress{Generation: generation, StartedAt: lead.At(now)}
	p.Facts.Merge(l.Profile(), lead.Origin{Provider: lead.OriginSource}, nil)
	return p
}

// LoadProgress decodes a stored progress. One of an earlier generation, or none,
// gives a new one.
func LoadProgress(b []byte, l lead.Lead, generation int, now time.Time) (*Progress, error) {
	if len(b) == 0 {
		return NewProgress(l, generation, now), nil
	}
	var p Progress
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("decode progress: %w", err)
	}
	if p.Generation != generation {
		return NewProgress(l, generation, now), nil
	}
	return &p, nil
}

// Resume is LoadProgress for who has to go on with the lead in any case. Beside an error
// it gives a progress whose chain has ended: nobody knows which calls were made, and the
// fallback can do without.
func Resume(b []byte, l lead.Lead, generation int, now time.Time) (*Progress, error) {
	p, err := LoadProgress(b, l, generation, now)
	if err != nil {
		p = NewProgress(l, generation, now)
		p.Ended = KindExhausted
	}
	return p, err
}

// How many of its runs a lead may end without a word, as when its worker is killed.
const (
	maxCrashes   = 3              // then it is taken for what kills the workers
	quarantineAt = maxCrashes - 1 // from then on it runs alone
)

// TooManyCrashes reports whether the lead is to be settled and not run again.
func (p *Progress) TooManyCrashes() bool { return p.Crashes >= maxCrashes }

// InQuarantine reports whether the lead is to run in quarantine: alone in its process.
func (p *Progress) InQuarantine() bool { return p.Crashes >= quarantineAt }

// begun is when the run began, whichever worker began it.
func (p *Progress) begun() time.Time {
	if !p.QueuedAt.IsZero() && p.QueuedAt.Before(p.StartedAt.Time) {
		return p.QueuedAt.Time
	}
	return p.StartedAt.Time
}

// Encode is the inverse of [LoadProgress].
func (p *Progress) Encode() ([]byte, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode progress: %w", err)
	}
	return b, nil
}

// Deadline is the end of the budget, and false while the budget does not run
// because no call has failed.
func (p *Progress) Deadline(r resilience.Retry) (time.Time, bool) {
	if p.FailedAt.IsZero() {
		return time.Time{}, false
	}
	return p.FailedAt.Add(r.Budget), true
}

// asked gives the provider's entry, made when there is none.
func (p *Progress) asked(provider string) *Asked {
	if p.Asked == nil {
		p.Asked = map[string]*Asked{}
	}
	if p.Asked[provider] == nil {
		p.Asked[provider] = &Asked{}
	}
	return p.Asked[provider]
}

// hasAnswered reports whether the call, or one that has all that it would bring,
// was answered.
func (a *Asked) hasAnswered(c providers.Call) bool {
	return slices.Contains(a.Answered, c.Endpoint) || c.Within != "" && slices.Contains(a.Answered, c.Within)
}

// isBilled reports whether the endpoint's answer was paid for while it was pending.
func (a *Asked) isBilled(endpoint string) bool { return slices.Contains(a.Billed, endpoint) }

// keepTicket remembers what the endpoint's pending answer is asked for with.
func (a *Asked) keepTicket(endpoint, ticket string) {
	if ticket == "" {
		return
	}
	if a.Tickets == nil {
		a.Tickets = map[string]string{}
	}
	a.Tickets[endpoint] = ticket
}
