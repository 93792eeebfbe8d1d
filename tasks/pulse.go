package tasks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"backstop/ledger"
	"backstop/resilience"
)

// errStopped is why the runs of a process end that was stopped (SIGSTOP, a frozen
// machine) for so long that its leads have been given to others.
var errStopped = errors.New("this process was stopped; its leads may be in other hands")

const (
	pulseEvery = 500 * time.Millisecond
	// pulseMost is the longest gap after which a run goes on: less than rescueAfter
	// by more than the time between two renewals of a lease.
	pulseMost = 5 * time.Second
)

// A pulse notices that the process was stopped. Without it, a worker that wakes
// would go on with a call for a lead that another worker has already taken over.
type pulse struct {
	now func() time.Time

	mu   sync.Mutex
	last time.Time
	run  context.Context // of all runs; ends when a gap is noticed
	end  context.CancelCauseFunc
}

func newPulse(now func() time.Time) *pulse {
	p := &pulse{now: now, last: now()}
	p.run, p.end = context.WithCancelCause(context.Background())
	return p
}

// beating beats until ctx ends.
func (p *pulse) beating(ctx context.Context) {
	every(ctx, pulseEvery, func() { p.beat() })
}

// beat notes that the process runs, and ends all runs if it did not for a while.
// It reports whether it did.
func (p *pulse) beat() (gap bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	gap = now.Sub(p.last) > pulseMost
	p.last = now
	if gap {
		p.end(errStopped)
		p.run, p.end = context.WithCancelCause(context.Background())
	}
	return gap
}

// current is what ends when a gap is noticed after now.
func (p *pulse) current() context.Context {
	p.beat() // a gap before is none of the caller's concern
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

// guard gives the context of one run. It ends with ctx, and when the process
// turns out to have been stopped.
func (p *pulse) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	run := p.current()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(run, func() { cancel(errStopped) })
	return ctx, func() { stop(); cancel(nil) }
}

// A guardedGate lets no call begin in a process that has just woken, and takes no
// call that the stop ran into for the provider's failure.
type guardedGate struct {
	resilience.Gate
	pulse *pulse
}

// Enter implements [resilience.Gate].
func (g guardedGate) Enter(ctx context.Context, provider string) (resilience.Pass, error) {
	run := g.pulse.current()
	pass, err := g.Gate.Enter(ctx, provider)
	if err != nil {
		return nil, err
	}
	p := guardedPass{Pass: pass, pulse: g.pulse, run: run}
	if p.Interrupted() {
		pass.Done(resilience.Result{})
		return nil, context.Canceled
	}
	return p, nil
}

// A guardedPass knows whether the process was stopped since it was given.
type guardedPass struct {
	resilience.Pass
	pulse *pulse
	run   context.Context
}

// Interrupted implements [resilience.Interruptible].
func (p guardedPass) Interrupted() bool {
	p.pulse.beat()
	return p.run.Err() != nil
}

// fencedPause is when the task of a fenced run comes back, to find its lead settled.
const fencedPause = 30 * time.Second

// guarded runs a handler so that it ends when the process was stopped, and so that
// a run that was fenced leaves the lead to the run that has it now.
func (h *handlers) guarded(handle func(context.Context, *asynq.Task) error) asynq.HandlerFunc {
	return func(ctx context.Context, t *asynq.Task) error {
		ctx, cancel := h.pulse.guard(ctx)
		defer cancel()
		err := handle(ctx, t)
		if errors.Is(err, ledger.ErrNotFound) {
			return nil // the lead was erased while it was worked on
		}
		if errors.Is(err, ledger.ErrStale) {
			return &Later{At: h.Now().Add(fencedPause), Why: "another run of the lead has gone on meanwhile"}
		}
		return err
	}
}
