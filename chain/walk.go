package chain

import (
	"context"
	"time"

	"backstop/lead"
	"backstop/providers"
	"backstop/resilience"
)

// Hooks are told what happens during a walk, as it happens. Each may be nil.
type Hooks struct {
	// Trail is called for each new entry of the trail.
	Trail func(lead.TrailEntry)
	// Arm is called by the first failed call of a lead, with the end of the budget. It
	// reports whether the fallback is scheduled now; if not, the next failed call tries
	// again.
	Arm func(ctx context.Context, deadline time.Time) bool
	// Panic is called for each panic of a provider's client, which counts as a failed call.
	Panic func(provider string, err *resilience.PanicError)
}

// A walk is one pass of one lead along the chain.
type walk struct {
	*Chain
	lead     lead.Lead
	progress *Progress
	hooks    Hooks

	trail   []lead.TrailEntry
	checked int       // of the addresses that were found: checked for an opt-out
	counted bool      // the attempt has been counted
	reopens time.Time // the earliest time at which a refusing gate lets a probe pass
}

// full reports whether the profile is full and a provider was heard: what the
// source knew by itself makes no enriched lead.
func (w *walk) full() bool {
	return w.progress.Heard && len(w.progress.Facts.Open(w.Want)) == 0
}

// note adds an entry to the trail. The first one of a walk makes it an attempt.
func (w *walk) note(provider string, e lead.TrailEntry) {
	if !w.counted {
		w.progress.Attempt++
		w.counted = true
	}
	e.Attempt, e.Provider = w.progress.Attempt, provider
	w.trail = append(w.trail, e)
	if w.hooks.Trail != nil {
		w.hooks.Trail(e)
	}
}

// skip notes that a provider was passed over, and why.
func (w *walk) skip(provider, why string) {
	w.note(provider, lead.TrailEntry{Class: lead.ClassSkip, Detail: why, At: lead.At(w.Now())})
}

// later puts the lead back until a time that is not in the past.
func (w *walk) later(kind Kind, at time.Time, why string) *Verdict {
	if now := w.Now(); at.Before(now) {
		at = now
	}
	w.progress.Due = lead.At(at.Add(time.Millisecond - 1)) // never early by the cut to milliseconds
	return &Verdict{Kind: kind, At: w.progress.Due.Time, Why: why}
}

// A turn is one provider's part of a walk.
type turn struct {
	*walk
	provider providers.Provider
	name     string
	asked    *Asked // what is known of the provider for this lead
	behind   int    // providers that come after this one
}
