package breakerstore

import (
	"context"
	"sync"

	"github.com/sony/gobreaker/v2"

	"backstop/resilience"
)

// notices hands transitions to one goroutine, in their order, so that whoever
// makes or sees one never waits for those who are told of it.
type notices struct {
	mu    sync.Mutex
	queue []resilience.Transition
	wake  chan struct{}
}

func (n *notices) add(t resilience.Transition) {
	n.mu.Lock()
	n.queue = append(n.queue, t)
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default: // it is awake
	}
}

func (n *notices) take() []resilience.Transition {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.queue
	n.queue = nil
	return out
}

// deliver tells of transitions until ctx ends, and then of those that are left.
func (n *notices) deliver(ctx context.Context, tell func(resilience.Transition)) {
	for {
		for _, t := range n.take() {
			tell(t)
		}
		select {
		case <-n.wake:
		case <-ctx.Done():
			for _, t := range n.take() {
				tell(t)
			}
			return
		}
	}
}

// announce logs a transition and hands it to the hook.
func (g *Gate) announce(t resilience.Transition) {
	line := g.o.Logger.Info()
	if t.Own && t.To == gobreaker.StateOpen {
		line = g.o.Logger.Warn()
	}
	line.Str("event", "circuit").Str("provider", t.Provider).Stringer("from", t.From).Stringer("to", t.To).
		Bool("own", t.Own).Str("reason", t.Reason).Msg("circuit changed")
	if g.o.Hook != nil {
		g.o.Hook(t)
	}
}

// decidedAlone tells of a transition of the local gate. It counts only while
// that one decides.
func (g *Gate) decidedAlone(t resilience.Transition) {
	if g.away.Load() {
		g.provider(t.Provider).decided(t, g.notices.add)
	}
}
