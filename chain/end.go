package chain

import (
	"context"

	"backstop/lead"
)

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
