package chain

import (
	"context"
	"time"

	"backstop/lead"
)

// A Kind says what is to happen to a lead after a walk.
type Kind string

// The kinds of verdict.
const (
	KindFull      Kind = "full"      // every wanted field is there, and a provider was heard
	KindRetry     Kind = "retry"     // a call failed: walk again at Verdict.At; a retry is used up
	KindSnooze    Kind = "snooze"    // nothing failed: walk again at Verdict.At
	KindNegative  Kind = "negative"  // all answered, not all is known; asking again would buy the same
	KindExhausted Kind = "exhausted" // something failed for good and the profile is not full
	KindSuppress  Kind = "suppress"  // the person opted out of processing
)

// A Verdict is the end of a walk.
type Verdict struct {
	Kind  Kind
	At    time.Time         // KindRetry, KindSnooze: not before
	Why   string            // KindRetry, KindSnooze: what the lead waits for
	Trail []lead.TrailEntry // what happened in this walk

	// Crowded: KindSnooze because there are more leads than the rate limit lets
	// pass. To take another lead at once would only put that one back, too.
	Crowded bool
}

// later puts the lead back until a time that is not in the past.
func (w *walk) later(kind Kind, at time.Time, why string) *Verdict {
	if now := w.Now(); at.Before(now) {
		at = now
	}
	w.progress.Due = lead.At(at.Add(time.Millisecond - 1)) // never early by the cut to milliseconds
	return &Verdict{Kind: kind, At: w.progress.Due.Time, Why: why}
}

// verdict is how the walk ended when it came to the end of the chain.
func (w *walk) verdict(ctx context.Context) *Verdict {
	if w.full() {
		return &Verdict{Kind: KindFull}
	}
	if v := w.awaitProbe(ctx); v != nil {
		return v
	}
	for _, provider := range w.Providers {
		if !w.heard(provider.Name()) {
			return &Verdict{Kind: KindExhausted}
		}
	}
	return &Verdict{Kind: KindNegative}
}

// awaitProbe puts the lead back for a circuit that lets a probe pass within the
// budget, which is worth the wait. It is nil if there is none.
func (w *walk) awaitProbe(ctx context.Context) *Verdict {
	if w.NoWait || w.reopens.IsZero() {
		return nil
	}
	start := w.progress.FailedAt.Time
	if start.IsZero() {
		start = w.Now()
	}
	if w.reopens.Add(w.reserved()).After(start.Add(w.Retry.Budget)) {
		return nil
	}
	w.startBudget(ctx, start)
	return w.later(KindSnooze, w.reopens, "every provider left is refused by its circuit")
}

// heard reports whether the provider gave all the answers that it has for this
// lead, so that asking it again would buy nothing new.
func (w *walk) heard(name string) bool {
	asked := w.progress.Asked[name]
	if asked == nil {
		return false
	}
	if asked.Over != "" {
		return asked.Over.IsNegative()
	}
	for _, e := range w.trail {
		if e.Provider == name && e.Class == lead.ClassSkip {
			return false
		}
	}
	return len(asked.Answered) > 0
}

// end completes a verdict with what every one has.
func (w *walk) end(v *Verdict) Verdict {
	if v == nil {
		return Verdict{Trail: w.trail}
	}
	v.Trail = w.trail
	switch v.Kind {
	case KindFull, KindNegative, KindExhausted, KindSuppress:
		w.progress.Ended = v.Kind
	}
	return *v
}
