package chain

import (
	"context"
	"slices"
	"time"

	"backstop/lead"
	"backstop/providers"
)

// recheck is how soon a lead comes back while nothing can say whether its person
// opted out of processing.
const recheck = 2 * time.Second

// found remembers the address that an answer names for the lead's person, taken or
// not. The address of an office is nobody's.
func (w *walk) found(a providers.Answer) {
	email, err := lead.NormalizeEmail(a.Profile[lead.PersonEmail])
	if err != nil || email == "" || email == w.lead.Email || lead.IsRoleAddress(email) {
		return
	}
	if !slices.Contains(w.progress.Found, email) {
		w.progress.Found = append(w.progress.Found, email)
	}
}

// optedOut is the verdict on a lead whose person opted out by any address that was
// found, nil if there is none. While nothing can say so, nobody else is asked. Only
// addresses that this walk has not checked yet are looked up.
func (w *walk) optedOut(ctx context.Context) *Verdict {
	if w.IsSuppressed == nil {
		return nil
	}
	for _, email := range w.progress.Found[w.checked:] {
		suppressed, err := w.IsSuppressed(ctx, email)
		switch {
		case err != nil:
			return w.later(KindSnooze, w.Now().Add(recheck), "nothing can say whether the person asked not to be processed")
		case suppressed:
			return w.suppress()
		}
		w.checked++
	}
	return nil
}

// suppress ends the lead without a trace of what was gathered. The addresses that
// were found stay for the caller, who has to remember that they opted out.
func (w *walk) suppress() *Verdict {
	w.progress.Facts = lead.Facts{}
	for _, asked := range w.progress.Asked {
		asked.Tickets = nil
	}
	for i := range w.trail {
		w.trail[i].Conflicts = nil
	}
	return &Verdict{Kind: KindSuppress}
}
