package resilience

import (
	"context"
	"slices"

	"backstop/lead"
	"backstop/providers"
)

// provider makes the calls of one provider until nothing more is to be had of it
// (nil), or until the walk has to stop (a verdict).
func (w *walk) provider(ctx context.Context, prov providers.Provider) (*Verdict, error) {
	asked := w.progress.asked(prov.Name())
	for asked.Over == "" {
		call, why, ok := w.next(prov, asked)
		if !ok {
			if why != "" {
				w.note(prov.Name(), lead.TrailEntry{Class: lead.ClassInvalidInput, Detail: why, At: lead.At(w.Now())})
				asked.Over = lead.ClassInvalidInput
			}
			return nil, nil
		}
		v, goOn, err := w.call(ctx, prov.Name(), call, asked)
		if err != nil || v != nil || !goOn {
			return v, err
		}
	}
	return nil, nil
}

// hasAnswered reports whether the call, or one that has all that it would bring,
// was answered.
func (a *Asked) hasAnswered(c providers.Call) bool {
	return slices.Contains(a.Answered, c.Endpoint) || c.Within != "" && slices.Contains(a.Answered, c.Within)
}

// next is the first planned call that has no answer yet. why is set when the
// provider cannot be asked about this lead at all.
func (w *walk) next(prov providers.Provider, asked *Asked) (call providers.Call, why string, ok bool) {
	if w.full() {
		return providers.Call{}, "", false
	}
	open := w.progress.Facts.Open(w.Want)
	if len(open) == 0 {
		open = w.Want // full by what the source said, which somebody should confirm
	}
	known := w.progress.Facts.Known(w.lead)
	missing, why := w.Rules[prov.Name()].passes(known, open)
	if why == "" {
		var calls []providers.Call
		calls, why = prov.Plan(known, missing)
		for _, c := range calls {
			if !asked.hasAnswered(c) {
				return c, "", true
			}
		}
		if len(calls) > 0 {
			why = ""
		}
	}
	if len(asked.Answered) > 0 {
		why = ""
	}
	return providers.Call{}, why, false
}
