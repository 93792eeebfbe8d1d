package tasks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"backstop/clock"
	"backstop/ledger"
	"backstop/resilience"
)

// errFrozen is why the runs of a process end that was stopped (SIGSTOP, a frozen
// machine) for so long that its leads have been given to others.
var errFrozen = errors.New("this process was stopped; its leads may be in other hands")

const (
	freezeEvery = 500 * time.Millisecond
	// freezeAfter is the longest gap after which a run goes on: less than rescueAfter
	// by more than the time between two renewals of a lease.
	freezeAfter = 5 * time.Second
)

// A FreezeDetector notices that the process was stopped. Without it, a worker that wakes
// would go on with a call for a lead that another worker has already taken over.
type FreezeDetector struct {
	now func() time.Time

	mu   sync.Mutex
	last time.Time
	run  context.Context // of all runs; ends when a gap is noticed
	end  context.CancelCauseFunc
}

// NewFreezeDetector returns one that tells the time by now. A [Server] keeps it running.
func NewFreezeDetector(now func() time.Time) *FreezeDetector {
	d := &FreezeDetector{now: now, last: now()}
	d.run, d.end = context.WithCancelCause(context.Background())
	return d
}

// beating beats until ctx ends.
func (d *FreezeDetector) beating(ctx context.Context) {
	clock.Every(ctx, freezeEvery, func() { d.beat() })
}

// beat notes that the process runs, and ends all runs if it did not for a while.
// It reports whether it did.
func (d *FreezeDetector) beat() (gap bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	gap = now.Sub(d.last) > freezeAfter
	d.last = now
	if gap {
		d.end(errFrozen)
		d.run, d.end = context.WithCancelCause(context.Background())
	}
	return gap
}

// current is what ends when a gap is noticed after now.
func (d *FreezeDetector) current() context.Context {
	d.beat() // a gap before is none of the caller's concern
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.run
}

// guard gives the context of one run. It ends with ctx, and when the process
// turns out to have been stopped.
func (d *FreezeDetector) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	run := d.current()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(run, func() { cancel(errFrozen) })
	return ctx, func() { stop(); cancel(nil) }
}

// Guard wraps a gate so that no call begins in a process that has just woken, and that no
// call that the stop ran into counts as the provider's failure.
func (d *FreezeDetector) Guard(g resilience.Gate) resilience.Gate { return guardedGate{g, d} }

// A guardedGate lets no call begin in a process that has just woken, and takes no
// call that the stop ran into for the provider's failure.
type guardedGate struct {
	resilience.Gate
	freeze *FreezeDetector
}

// Acquire implements [resilience.Gate].
func (g guardedGate) Acquire(ctx context.Context, provider string) (resilience.Permit, error) {
	run := g.freeze.current()
	permit, err := g.Gate.Acquire(ctx, provider)
	if err != nil {
		return nil, err
	}
	p := guardedPermit{Permit: permit, freeze: g.freeze, run: run}
	if p.Interrupted() {
		permit.Done(resilience.Result{})
		return nil, context.Canceled
	}
	return p, nil
}

// A guardedPermit knows whether the process was stopped since it was given.
type guardedPermit struct {
	resilience.Permit
	freeze *FreezeDetector
	run    context.Context
}

// Interrupted implements [resilience.Interruptible].
func (p guardedPermit) Interrupted() bool {
	p.freeze.beat()
	return p.run.Err() != nil
}

// fencedPause is when the task of a fenced run comes back, to find its lead settled.
const fencedPause = 30 * time.Second

// guarded runs a handler so that it ends when the process was stopped, and so that
// a run that was fenced leaves the lead to the run that has it now.
func (h *handlers) guarded(handle func(context.Context, *asynq.Task) error) asynq.HandlerFunc {
	return func(ctx context.Context, t *asynq.Task) error {
		ctx, cancel := h.Freeze.guard(ctx)
		defer cancel()
		err := handle(ctx, t)
		if errors.Is(err, ledger.ErrNotFound) {
			return nil // the lead was erased while it was worked on
		}
		if errors.Is(err, ledger.ErrStale) {
			return h.snoozed(fencedPause, "another run of the lead has gone on meanwhile")
		}
		return err
	}
}
