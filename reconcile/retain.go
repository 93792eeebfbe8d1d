package reconcile

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"backstop/lead"
)

// Retention says for how long what is settled is kept; 0 is for ever.
type Retention struct {
	Outcomes time.Duration // then the lead goes, with its outcome, trail and tasks
	Trails   time.Duration // then its trail goes
}

// The pace at which what is too old is removed: a page each second while there is
// more, else a look now and then. A page takes a moment only: the reconciler has
// other things to do.
const (
	expirePage = 100
	expireRest = time.Minute
)

// expire removes a page of what is too old. The tasks go first: once the ledger has
// forgotten a lead nothing would find an archived task of its any more, and the next
// time that the lead is accepted it would be taken for that of the new run.
func (r *Reconciler) expire(ctx context.Context) error {
	keep, now := r.Retention, r.Now()
	if now.Before(r.expireAt) { // without a retention, too: the ledger's own records expire
		return nil
	}
	before := func(age time.Duration) time.Time {
		if age == 0 {
			return time.Time{}
		}
		return now.Add(-age)
	}
	refs, err := r.Ledger.Expirable(ctx, before(keep.Outcomes), expirePage)
	if err != nil {
		return err
	}
	if err := r.removeTasks(ctx, refs); err != nil {
		return err
	}
	gone, err := r.Ledger.Expire(ctx, before(keep.Outcomes), before(keep.Trails), expirePage)
	if err != nil {
		return err
	}
	if err := r.removeTasks(ctx, gone.Leads); err != nil { // of a replay that ended in between
		return err
	}
	if n := len(gone.Leads); n > 0 || gone.Trails > 0 {
		r.Log.Info().Str("event", "expired").Int("leads", n).Int("trails", gone.Trails).Msg("what the retention no longer allows was deleted")
	}
	if len(gone.Leads) < expirePage && gone.Trails < expirePage {
		r.expireAt = now.Add(expireRest)
	}
	return nil
}

// removeTasks removes the archived tasks of leads.
func (r *Reconciler) removeTasks(ctx context.Context, refs []lead.Run) error {
	var g errgroup.Group
	g.SetLimit(parallel)
	for _, ref := range refs {
		g.Go(func() error { return r.Queue.RemoveRuns(ctx, ref.LeadID, ref.Generation) })
	}
	return g.Wait()
}
