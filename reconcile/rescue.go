package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"backstop/chain"
	"backstop/lead"
	"backstop/ledger"
	"backstop/queue"
)

// rescueAfter is how long a task's lease may stand still before its worker
// counts as dead. A living one renews it every 5 s; asynq's own recovery would
// take 55 to 120 s.
const rescueAfter = 11 * time.Second

// A leaseWatch remembers since when the lease of each task in work has not been
// renewed. It compares leases only with themselves, so that clocks that differ
// do no harm.
type leaseWatch struct{ since map[queue.Active]time.Time }

func newLeaseWatch() leaseWatch { return leaseWatch{since: map[queue.Active]time.Time{}} }

// reset forgets everything: Redis was away, and the workers may not have been able
// to renew their leases either.
func (w *leaseWatch) reset() { clear(w.since) }

// see takes note of the tasks in work now.
func (w *leaseWatch) see(tasks []queue.Active, now time.Time) {
	next := make(map[queue.Active]time.Time, len(tasks))
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
func (w *leaseWatch) overdue(now time.Time) []queue.Active {
	var all []queue.Active
	for a, first := range w.since {
		if now.Sub(first) >= rescueAfter {
			all = append(all, a)
		}
	}
	return all
}

// look takes note of the tasks in work.
func (r *Reconciler) look(ctx context.Context) error {
	tasks, err := r.Queue.Actives(ctx)
	if err != nil {
		r.watch.reset() // what happened meanwhile was not seen
		return err
	}
	now := r.Now()
	if now.Sub(r.steppedAt) > blind {
		r.watch.reset()
	}
	r.steppedAt = now
	r.watch.see(tasks, now)
	return nil
}

// rescueOverdue takes the tasks of dead workers from them.
func (r *Reconciler) rescueOverdue(ctx context.Context) error {
	var errs []error
	for _, a := range r.watch.overdue(r.Now()) {
		if err := r.rescue(ctx, a); err != nil {
			errs = append(errs, fmt.Errorf("rescue task %s: %w", a.ID, err))
		}
	}
	return errors.Join(errs...)
}

// rescue takes a task from a worker that is dead, stopped or cut off. The lead's
// version in the ledger is raised first, which fences whatever that worker may
// still write when it wakes.
func (r *Reconciler) rescue(ctx context.Context, a queue.Active) error {
	run, ok := queue.ParseID(a.ID)
	if !ok { // not one of ours; to run again is what asynq would do
		_, err := r.Queue.Release(ctx, a, queue.ToPending)
		return err
	}
	rec, err := r.Ledger.Get(ctx, run.LeadID)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && (!rec.Live() || rec.Generation != run.Generation) {
		to := queue.ToNowhere // settled, and only the acknowledgement was lost
		if rec.Status == lead.StatusSuppressed {
			to = queue.ToPending // unless its worker died before it had removed all traces
		}
		_, err := r.Queue.Release(ctx, a, to)
		return err
	}
	if err != nil {
		return err
	}
	progress := r.progressOf(rec)
	progress.Crashes++
	crash := lead.TrailEntry{
		Attempt: max(progress.Attempt, 1), Provider: "worker", Class: lead.ClassCrash,
		Detail: "the run ended without a word", At: lead.At(r.Now()),
	}
	if progress.TooManyCrashes() {
		return r.quarantine(ctx, a, rec, progress, crash)
	}
	return r.release(ctx, a, rec, progress, crash)
}

// release puts the task of a dead worker back on the queue.
func (r *Reconciler) release(ctx context.Context, a queue.Active, rec ledger.Record, p *chain.Progress, crash lead.TrailEntry) error {
	b, err := p.Encode()
	if err != nil {
		return err
	}
	_, err = r.Ledger.SaveAttempt(ctx, ledger.Attempt{
		LeadID: rec.LeadID, Generation: rec.Generation, StartedAt: p.StartedAt, Retries: p.Retries,
		Progress: b, Trail: []lead.TrailEntry{crash}, Version: rec.Version, Found: p.Found,
	})
	if errors.Is(err, ledger.ErrStale) {
		return nil // its worker lives
	}
	if err != nil {
		return err
	}
	released, err := r.Queue.Release(ctx, a, queue.ToPending)
	if err == nil && released {
		r.Observer.Rescued(1, a.Queue)
		log := r.logOf(rec)
		log.Warn().Str("event", "rescued").Str("queue", a.Queue).Int("crashes", p.Crashes).
			Msg("the worker of this lead is not heard of any more; it goes on elsewhere")
	}
	return err
}

// quarantine settles a lead whose runs end without a word again and again, so that
// it kills no further worker.
func (r *Reconciler) quarantine(ctx context.Context, a queue.Active, rec ledger.Record, p *chain.Progress, crash lead.TrailEntry) error {
	facts := p.Facts
	facts.Infer(rec.Lead)
	s := ledger.Settlement{
		LeadID: rec.LeadID, Generation: rec.Generation, StartedAt: p.StartedAt, Retries: p.Retries, Found: p.Found,
		Status: lead.StatusPartial, Facts: facts, Missing: facts.Profile.Missing(r.Want), Fallback: true,
		Reason: fmt.Sprintf("quarantined: %d runs ended without a word, as when a worker is killed; it is not run again", p.Crashes),
		Trail:  []lead.TrailEntry{crash},
	}
	done, err := r.Ledger.Settle(ctx, s)
	if err != nil {
		return err
	}
	r.Observer.Settled(s, done, rec.AcceptedAt)
	log := r.logOf(rec)
	log.Error().Str("event", "quarantined").Int("crashes", p.Crashes).Str("status", string(done.Status)).
		Msg("this lead seems to kill its workers; it is settled and not run again")
	to := queue.ToArchive
	if done.Status == lead.StatusSuppressed {
		to = queue.ToPending // its next run removes what Redis has of the person
	}
	_, err = r.Queue.Release(ctx, a, to)
	return err
}
