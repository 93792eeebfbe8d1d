package chain

import (
	"backstop/lead"
	"backstop/providers"
)

// next is the first planned call that has no answer yet, false if there is none. A
// provider that cannot be asked about this lead at all gets an entry in the trail.
func (t *turn) next() (call providers.Call, ok bool) {
	if t.full() {
		return providers.Call{}, false
	}
	calls, why := t.plan()
	for _, c := range calls {
		if !t.asked.hasAnswered(c) {
			return c, true
		}
	}
	if why != "" && len(t.asked.Answered) == 0 {
		t.note(t.name, lead.TrailEntry{Class: lead.ClassInvalidInput, Detail: why, At: lead.At(t.Now())})
		t.asked.Over = lead.ClassInvalidInput
	}
	return providers.Call{}, false
}

// plan lists the calls that could fill what is missing, or says why there are none.
func (t *turn) plan() (calls []providers.Call, why string) {
	open := t.progress.Facts.Open(t.Want)
	if len(open) == 0 {
		open = t.Want // full by what the source said, which somebody should confirm
	}
	known := t.progress.Facts.Known(t.lead)
	missing, why := t.Rules[t.name].passes(known, open)
	if why != "" {
		return nil, why
	}
	if calls, why = t.provider.Plan(known, missing); len(calls) > 0 {
		why = ""
	}
	return calls, why
}
