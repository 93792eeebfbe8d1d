package breakerstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var (
	errShut = errors.New("the gate is shut down")
	errSlow = errors.New("no answer in time")
)

// flights counts the calls of Redis that are under way.
type flights struct {
	mu   sync.Mutex
	shut bool
	wg   sync.WaitGroup
}

func (f *flights) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shut {
		return false
	}
	f.wg.Add(1)
	return true
}

func (f *flights) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shut = true
}

func (f *flights) wait() { f.wg.Wait() }

// ask calls Redis and waits for the answer no longer than the time-out. The
// client's own time-outs cannot be relied on: they hold for one attempt on one
// connection, and not at all while it dials. A call that nobody waits for any
// more goes on to its end; if it succeeds, late is told so.
func ask[T any](ctx context.Context, g *Gate, timeout time.Duration, call func(context.Context) (T, error), late func(T)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	if !g.flights.begin() {
		return zero, errShut
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer) // not buffered: either somebody takes it or it is late
	gone := make(chan struct{})
	defer close(gone)
	go func() {
		defer g.flights.wg.Done()
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
