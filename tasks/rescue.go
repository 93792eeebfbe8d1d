package tasks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"backstop/lead"
	"backstop/ledger"
)

const (
	// rescueAfter is how long a task's lease may stand still before its worker
	// counts as dead. A living one renews it every 5 s; asynq's own recovery would
	// take 55 to 120 s.
	rescueAfter = 11 * time.Second
	// poisonous is how many of its runs a lead may end without a word before it is
	// taken for what kills the workers.
	poisonous = 3
	// suspicious is from how many on it runs alone.
	suspicious = poisonous - 1
)

// A leaseWatch remembers since when the lease of each task in work has not been
// renewed. It compares leases only with themselves, so that clocks that differ
// do no harm.
type leaseWatch struct{ since map[active]time.Time }

func newLeaseWatch() leaseWatch { return leaseWatch{since: map[active]time.Time{}} }

// reset forgets everything: Redis was away, and the workers may not have been able
// to renew their leases either.
func (w *leaseWatch) reset() { clear(w.since) }

// see takes note of the tasks in work now.
func (w *leaseWatch) see(tasks []active, now time.Time) {
	next := make(map[active]time.Time, len(tasks))
	for _, a := range tasks {
		first, known := w.since[a]
		if !known {
			first = now
		}
		next[a] = first
	}
	w.since = next
}

// overdue lists the tasks whose worker counts as dead.
func (w *leaseWatch) overdue(now time.Time) []active {
	var all []active
	for a, first := range w.since {
		if now.Sub(first) >= rescueAfter {
			all = append(all, a)
		}
	}
	return all
}

// rescue takes a task from a worker that is dead, stopped or cut off. The lead's
// version in the ledger is raised first, which fences whatever that worker may
// still write when it wakes.
func (r *reconciler) rescue(ctx context.Context, a active) error {
	id, generation, ok := parseTaskID(a.id)
	if !ok { // not one of ours; to run again is what asynq would do
		_, err := r.Queue.release(ctx, a, releasePending)
		return err
	}
	rec, err := r.Ledger.Get(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && (!rec.Live() || rec.Generation != generation) {
		how := releaseDone // settled, and only the acknowledgement was lost
		if rec.Status == lead.StatusSuppressed {
			how = releasePending // unless its worker died before it had removed all traces
		}
		_, err := r.Queue.release(ctx, a, how)
		return err
	}
	if err != nil {
		return fmt.Errorf("look at lead %s: %w", id, err)
	}
	log := r.Log.With().Str("request_id", rec.RequestID).Str("lead_id", id).Logger()
	progress := r.progressOf(rec, log)
	progress.Crashes++
	entry := lead.TrailEntry{
		Attempt: max(progress.Attempt, 1), Provider: "worker", Class: lead.ClassCrash,
		Detail: "the run ended without a word", At: lead.At(r.Now()),
	}
	j := &job{payload: payloadFor(rec), record: rec, progress: progress, log: log}
	if progress.Crashes >= poisonous {
		return r.poisoned(ctx, a, j, entry)
	}
	if err := r.record(ctx, j, []lead.TrailEntry{entry}); err != nil {
		if errors.Is(err, ledger.ErrStale) {
			return nil // its worker lives
		}
		return err
	}
	released, err := r.Queue.release(ctx, a, releasePending)
	if err == nil && released {
		r.Observer.Rescued(1, a.queue)
		log.Warn().Str("event", "rescued").Str("queue", a.queue).Int("crashes", progress.Crashes).
			Msg("the worker of this lead is not heard of any more; it goes on elsewhere")
	}
	return err
}

// poisoned settles a lead whose runs end without a word again and again, so that
// it kills no further worker.
func (r *reconciler) poisoned(ctx context.Context, a active, j *job, entry lead.TrailEntry) error {
	facts := j.progress.Facts
	facts.Infer(j.record.Lead)
	err := r.settle(ctx, j, ledger.Settlement{
		Status: lead.StatusPartial, Facts: facts, Missing: facts.Profile.Missing(r.Chain.Want), Fallback: true,
		Reason: fmt.Sprintf("poison: %d runs ended without a word, as when a worker is killed; it is not run again", j.progress.Crashes),
		Trail:  []lead.TrailEntry{entry},
	})
	if err != nil {
		return err
	}
	j.log.Error().Str("event", "poison").Int("crashes", j.progress.Crashes).Msg("this lead seems to kill its workers; it is settled and not run again")
	how := releaseArchived
	if j.suppressed {
		how = releaseDone // the archive would keep the payload, which names the person
	}
	_, err = r.Queue.release(ctx, a, how)
	return err
}

// parseTaskID is the inverse of [EnrichID] and [FallbackID].
func parseTaskID(s string) (leadID string, generation int, ok bool) {
	kind, rest, ok1 := strings.Cut(s, ":")
	id, gen, ok2 := strings.Cut(rest, ":")
	n, err := strconv.Atoi(gen)
	return id, n, ok1 && ok2 && err == nil && id != "" && (kind == "enrich" || kind == "fallback")
}

// alone lets one lead at a time pass whose runs have ended without a word before.
// When a worker dies, all that it was working on is under suspicion, and most of
// it innocent; run one at a time, the innocent are cleared and only what kills the
// worker again is under it again. The others come back in a second.
func (h *handlers) alone() (leave func(), err error) {
	select {
	case h.suspect <- struct{}{}:
		return func() { <-h.suspect }, nil
	default:
		return nil, &Later{At: h.Now().Add(time.Second), Why: "waits for its turn alone, after runs that ended without a word"}
	}
}
