package ledgertest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"backstop/lead"
	"backstop/ledger"
)

// A model says what a lead must look like after a sequence of writes.
type model struct {
	best        lead.Outcome
	generation  int
	settledUpTo int
	version     int64
	last        int // the last fenced write that got through, by its place in writes
	progress    string
	trail       []string
	suppressed  bool
	writes      []any // ledger.Attempt or ledger.Settlement
}

// admits says what the fence does, and moves the lead on if it lets the write
// through.
func (m *model) admits(version int64, generation int) bool {
	switch {
	case version == 0:
		return true
	case version != m.version || generation != m.generation:
		return false
	}
	m.version++
	m.last = len(m.writes)
	return true
}

func (m *model) record(a ledger.Attempt) (stale bool) {
	m.trail = append(m.trail, details(a.Trail)...)
	if !m.admits(a.Version, a.Generation) {
		return true
	}
	m.keep(a)
	return false
}

// keep is what a record changes beside the trail.
func (m *model) keep(a ledger.Attempt) {
	if a.Generation != m.generation {
		return
	}
	if !m.suppressed {
		m.progress = string(a.Progress)
	}
	if a.Version == 0 {
		m.version++
	}
}

func (m *model) settle(s ledger.Settlement) (want ledger.Settled, stale bool) {
	m.trail = append(m.trail, details(s.Trail)...)
	if s.Status == lead.StatusSuppressed {
		m.suppressed, m.progress = true, ""
	}
	if !m.admits(s.Version, s.Generation) {
		if m.suppressed && m.best.Status != "" {
			m.best = lead.Outcome{Status: lead.StatusSuppressed}
		}
		return ledger.Settled{Status: m.best.Status}, true
	}
	o := lead.Outcome{Status: s.Status, Missing: s.Missing, Profile: s.Facts.Profile}
	if m.suppressed {
		o = lead.Outcome{Status: lead.StatusSuppressed}
	}
	want = ledger.Settled{Applied: o.Score() > m.best.Score() || m.best.Status == "", First: m.best.Status == ""}
	if want.Applied {
		m.best = o
	}
	want.Status = m.best.Status
	m.settledUpTo = max(m.settledUpTo, s.Generation)
	return want, false
}

// neverFalls compares random sequences of settlements, attempts, repetitions and
// replays, fenced and not, with the model.
func neverFalls(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		run := modelRun{t: t, l: l, id: accept(t, l, n, 1)[0].LeadID, m: &model{generation: 1, version: 1, last: -1}}
		rt.Repeat(map[string]func(*rapid.T){
			"settle": run.settle, "record": run.record, "repeat": run.repeat, "reopen": run.reopen, "": run.check,
		})
	})
}

type modelRun struct {
	t  *testing.T
	l  *ledger.Ledger
	id string
	m  *model
}

// from draws the generation and version that a write begins from, most often the
// current ones.
func (r modelRun) from(rt *rapid.T) (generation int, version int64, trail []lead.TrailEntry) {
	generation, version = r.m.generation, r.m.version
	switch rapid.IntRange(0, 5).Draw(rt, "from") {
	case 0, 1:
		version = 0
	case 2:
		version = rapid.Int64Range(1, r.m.version).Draw(rt, "version")
	}
	if rapid.IntRange(0, 3).Draw(rt, "old") == 0 {
		generation = rapid.IntRange(1, r.m.generation).Draw(rt, "generation")
	}
	return generation, version, []lead.TrailEntry{entry(1, fmt.Sprint(len(r.m.trail)), lead.Time{})}
}

func (r modelRun) settle(rt *rapid.T) {
	s := settlement(r.id, rapid.SampledFrom(lead.Statuses).Draw(rt, "status"), rapid.IntRange(0, 4).Draw(rt, "known"), rapid.IntRange(0, 3).Draw(rt, "missing"))
	s.Generation, s.Version, s.Trail = r.from(rt)
	want, stale := r.m.settle(s)
	got, err := r.l.Settle(r.t.Context(), s)
	if !cmp.Equal(got, want) || errors.Is(err, ledger.ErrStale) != stale || (err != nil) != stale {
		rt.Fatalf("settle: got %+v, %v, want %+v, stale %v", got, err, want, stale)
	}
	r.m.writes = append(r.m.writes, s)
}

func (r modelRun) record(rt *rapid.T) {
	a := ledger.Attempt{LeadID: r.id, Progress: []byte(fmt.Sprint("progress ", len(r.m.writes)))}
	a.Generation, a.Version, a.Trail = r.from(rt)
	stale := r.m.record(a)
	r.recorded(rt, a, stale)
	r.m.writes = append(r.m.writes, a)
}

func (r modelRun) recorded(rt *rapid.T, a ledger.Attempt, stale bool) {
	version, err := r.l.SaveAttempt(r.t.Context(), a)
	if errors.Is(err, ledger.ErrStale) != stale || (err != nil) != stale || (err == nil && version != r.m.version) {
		rt.Fatalf("record: got version %d, %v, want %d, stale %v", version, err, r.m.version, stale)
	}
}

// repeat makes some earlier write again, as one does whose answer was lost.
func (r modelRun) repeat(rt *rapid.T) {
	if len(r.m.writes) == 0 {
		rt.Skip("nothing was written yet")
	}
	i := rapid.IntRange(0, len(r.m.writes)-1).Draw(rt, "write")
	switch w := r.m.writes[i].(type) {
	case ledger.Attempt:
		if w.Version == 0 {
			r.m.keep(w)
		}
		r.recorded(rt, w, w.Version != 0 && i != r.m.last)
	case ledger.Settlement:
		stale := w.Version != 0 && i != r.m.last
		got, err := r.l.Settle(r.t.Context(), w)
		if got.Status != r.m.best.Status || errors.Is(err, ledger.ErrStale) != stale || (err != nil) != stale {
			rt.Fatalf("settle again: got %+v, %v, want %s, stale %v", got, err, r.m.best.Status, stale)
		}
	}
}

func (r modelRun) reopen(rt *rapid.T) {
	refs, err := r.l.Reopen(r.t.Context(), []lead.Run{{LeadID: r.id, Generation: r.m.generation}})
	if err != nil {
		rt.Fatal(err)
	}
	reopened := len(refs) == 1
	if reopened != (r.m.settledUpTo >= r.m.generation && !r.m.suppressed) {
		rt.Fatalf("reopened: %v, with %d of %d settled, suppressed %v", reopened, r.m.settledUpTo, r.m.generation, r.m.suppressed)
	}
	if reopened {
		r.m.generation++
		r.m.version++
		r.m.progress = ""
	}
}

func (r modelRun) check(rt *rapid.T) {
	rec, o, m := get(r.t, r.l, r.id), outcome(r.t, r.l, r.id), r.m
	if rec.Status != m.best.Status || o.Status != m.best.Status || rec.Generation != m.generation || rec.SettledGeneration != m.settledUpTo {
		rt.Fatalf("got %s, generation %d, settled %d; want %s, %d, %d", rec.Status, rec.Generation, rec.SettledGeneration, m.best.Status, m.generation, m.settledUpTo)
	}
	if rec.Suppressed != m.suppressed || m.suppressed && rec.Lead != (lead.Lead{Source: rec.Lead.Source, SourceID: rec.Lead.SourceID}) {
		rt.Fatalf("got %+v; suppressed: %v", rec, m.suppressed)
	}
	if rec.Version != m.version || string(rec.Progress) != m.progress {
		rt.Fatalf("got version %d, progress %q; want %d, %q", rec.Version, rec.Progress, m.version, m.progress)
	}
	if m.best.Status != "" && o.Score() != m.best.Score() {
		rt.Fatalf("score %d, want %d", o.Score(), m.best.Score())
	}
	if got := details(o.Trail); !cmp.Equal(got, m.trail) {
		rt.Fatalf("trail %q, want %q", got, m.trail)
	}
	settled, err := r.l.Settled(r.t.Context(), []lead.Run{{LeadID: r.id, Generation: m.generation}})
	if err != nil || settled[0] != (m.settledUpTo >= m.generation) {
		rt.Fatalf("settled: %v, %v", settled, err)
	}
}
