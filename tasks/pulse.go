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
	tick := time.NewTicker(pulseEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.beat()
		}
	}
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

// guard gives the context of one run. It ends with ctx, and when the process
// turns out to have been stopped.
func (p *pulse) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	p.beat() // a gap before this run is none of its concern
	p.mu.Lock()
	run := p.run
	p.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(run, func() { cancel(errStopped) })
	return ctx, func() { stop(); cancel(nil) }
}

// A guardedGate lets no call begin in a process that has just woken.
type guardedGate struct {
	resilience.Gate
	pulse *pulse
}

// Enter implements [resilience.Gate].
func (g guardedGate) Enter(ctx context.Context, provider string) (resilience.Pass, error) {
	pass, err := g.Gate.Enter(ctx, provider)
	if err == nil && g.pulse.beat() {
		pass.Done(resilience.Result{})
		return nil, context.Canceled
	}
	return pass, err
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
		if errors.Is(err, ledger.ErrStale) {
			return &Later{At: h.Now().Add(fencedPause), Why: "another run of the lead has gone on meanwhile"}
		}
		return err
	}
}
