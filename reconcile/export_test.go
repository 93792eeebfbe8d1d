package reconcile

import (
	"backstop/ledger"
	"context"
	"time"
)

// What tests of times and sizes need to know.
const (
	RescueAfter = rescueAfter
	Blind       = blind
	PageSize    = pageSize
	ArchiveHigh = archiveHigh
	ArchiveLow  = archiveLow
	RefillFor   = refillFor
)

// Trim makes that part of a step.
func (r *Reconciler) Trim(ctx context.Context) error { return r.trim(ctx) }

// SetNow sets the clock.
func (r *Reconciler) SetNow(now func() time.Time) { r.Now = now }

// Examine gives tasks again to the leads of a page that have none.
func (r *Reconciler) Examine(ctx context.Context, page []ledger.Record) error {
	return r.examine(ctx, page)
}

// Expire makes that part of a step.
func (r *Reconciler) Expire(ctx context.Context) error { return r.expire(ctx) }
