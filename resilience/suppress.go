package resilience

import (
	"context"
	"slices"
	"time"

	"backstop/lead"
	"backstop/providers"
)

// recheck is how soon a lead comes back of whose person nobody could say whether
// they asked not to be processed.
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

// isSuppressed reports whether the person of any address that was found asked not
// to be processed. Those are looked for that the walk has not looked for yet.
func (w *walk) isSuppressed(ctx context.Context) (bool, error) {
	if w.IsSuppressed == nil {
		return false, nil
	}
	for _, email := range w.progress.Found[w.looked:] {
		suppressed, err := w.IsSuppressed(ctx, email)
		if err != nil || suppressed {
			return suppressed && err == nil, err
		}
		w.looked++
	}
	return false, nil
}

// mayGoOn looks whether the lead's person is to be left in peace: nil if not, else
// the verdict. While nobody can say, nobody else is asked about them.
func (w *walk) mayGoOn(ctx context.Context) *Verdict {
	suppressed, err := w.isSuppressed(ctx)
	switch {
	case err != nil:
		return w.snooze(w.Now().Add(recheck), "nothing can say whether the person asked not to be processed")
	case suppressed:
		return w.suppress()
	}
	return nil
}

// suppress ends the lead without a trace of what was gathered. The addresses that
// were found stay for the caller, who has to remember that these are to be left in
// peace.
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
