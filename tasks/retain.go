package tasks

import (
	"context"
	"time"

	"backstop/ledger"
)

// Retention says for how long what is settled is kept; 0 is for ever.
type Retention struct {
	Outcomes time.Duration // then the lead goes, with its outcome, trail and tasks
	Trails   time.Duration // then its trail goes
}

// The pace at which what is too old is removed: a page each second while there is
// more, else a look now and then.
const (
	expirePage = 500
	expireRest = time.Minute
)

// expire removes a page of what is too old.
func (r *reconciler) expire(ctx context.Context) error {
	keep, now := r.Retention, r.Now()
	if keep == (Retention{}) || now.Before(r.expireAt) {
		return nil
	}
	before := func(age time.Duration) time.Time {
		if age == 0 {
			return time.Time{}
		}
		return now.Add(-age)
	}
	gone, err := r.Ledger.Expire(ctx, before(keep.Outcomes), before(keep.Trails), expirePage)
	if err != nil {
		return err
	}
	if err := r.removeTasks(ctx, gone.Leads); err != nil {
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

// removeTasks removes the archived tasks of leads that are gone.
func (r *reconciler) removeTasks(ctx context.Context, refs []ledger.Ref) error {
	for _, ref := range refs {
		if err := r.Queue.removeRuns(ctx, ref.LeadID, ref.Generation); err != nil {
			return err
		}
	}
	return nil
}
