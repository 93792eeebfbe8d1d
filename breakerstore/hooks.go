package breakerstore

// Telling of transitions.

import (
	"context"
	"sync"

	"github.com/sony/gobreaker/v2"

	"backstop/resilience"
)

// hooks hands transitions to one goroutine, in their order, so that whoever
// makes or sees one never waits for those who are told of it.
type hooks struct {
	mu    sync.Mutex
	queue []resilience.Transition
	wake  chan struct{}
}

func (h *hooks) add(t resilience.Transition) {
	h.mu.Lock()
	h.queue = append(h.queue, t)
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default: // it is awake
	}
}

func (h *hooks) take() []resilience.Transition {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.queue
	h.queue = nil
	return out
}

// deliver tells of transitions until ctx ends, and then of those that are left.
func (h *hooks) deliver(ctx context.Context, tell func(resilience.Transition)) {
	for {
		for _, t := range h.take() {
			tell(t)
		}
		select {
		case <-h.wake:
		case <-ctx.Done():
			for _, t := range h.take() {
				tell(t)
			}
			return
		}
	}
}

// announce logs a transition and hands it to the hook.
func (g *Gate) announce(t resilience.Transition) {
	event := g.o.Logger.Info()
	if t.Own && t.To == gobreaker.StateOpen {
		event = g.o.Logger.Warn()
	}
	event.Str("event", "circuit").Str("provider", t.Provider).Stringer("from", t.From).Stringer("to", t.To).
		Bool("own", t.Own).Str("reason", t.Reason).Msg("circuit changed")
	if g.o.Hook != nil {
		g.o.Hook(t)
	}
}
