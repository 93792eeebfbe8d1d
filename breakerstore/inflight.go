package breakerstore

// One call of Redis, which takes no longer than its time-out.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	errShutDown = errors.New("the gate is shut down")
	errSlow     = errors.New("no answer in time")
)

// inflight counts the calls of Redis that are under way.
type inflight struct {
	mu   sync.Mutex
	shut bool
	wg   sync.WaitGroup
}

func (f *inflight) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shut {
		return false
	}
	f.wg.Add(1)
	return true
}

func (f *inflight) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shut = true
}

func (f *inflight) wait() { f.wg.Wait() }

// bounded is [callRedis] for a call that returns nothing but an error.
func (g *Gate) bounded(ctx context.Context, timeout time.Duration, call func(context.Context) error) error {
	_, err := callRedis(ctx, g, timeout, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) }, nil)
	return err
}

// runBounded is [callRedis] for one script.
func (g *Gate) runBounded(ctx context.Context, s *redis.Script, p *provider, args ...any) ([]any, error) {
	return callRedis(ctx, g, g.o.Timeout, func(ctx context.Context) ([]any, error) { return g.run(ctx, s, p, args...) }, nil)
}

// callRedis calls Redis and waits for the answer no longer than the time-out. The
// client's own time-outs cannot be relied on: they hold for one attempt on one
// connection, and not at all while it dials. A call that nobody waits for any
// more goes on to its end; if it succeeds, late gets its value.
func callRedis[T any](ctx context.Context, g *Gate, timeout time.Duration, call func(context.Context) (T, error), late func(T)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	if !g.inflight.begin() {
		return zero, errShutDown
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer) // not buffered: either somebody takes it or it is late
	gone := make(chan struct{})
	defer close(gone)
	go func() {
		defer g.inflight.wg.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		value, err := call(ctx)
		select {
		case answers <- answer{value, err}:
		case <-gone:
			if err == nil && late != nil {
				late(value)
			}
		}
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return zero, ctx.Err()
	case <-timer.C:
		return zero, fmt.Errorf("redis: %w", errSlow)
	}
}
