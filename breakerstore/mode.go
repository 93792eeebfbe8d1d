package breakerstore

// Redis goes and comes: who decides, the shared state or this replica alone.

import (
	"context"
	"errors"

	"github.com/sony/gobreaker/v2"

	"backstop/resilience"
)

// redisLost makes this replica decide alone, from what it knows, until Redis is back.
func (g *Gate) redisLost(cause error) {
	if g.away.Load() {
		return // without the lock, under which redisBack calls Redis
	}
	g.modeMu.Lock()
	defer g.modeMu.Unlock()
	if g.away.Load() || errors.Is(cause, errShutDown) {
		return
	}
	now := g.o.Now()
	g.local.SetShare(int(g.replicas.Load()))
	for _, p := range g.all() {
		p.alone.Store(0)
		c := p.circuit.Load()
		if c == nil {
			continue
		}
		report := c.report(p.cfg, 0, now)
		if c.state == gobreaker.StateHalfOpen {
			report.RetryAt = c.leaseEnd // a probe is under way
		}
		g.local.Adopt(report)
	}
	g.since = now
	g.away.Store(true)
	g.o.Logger.Warn().Err(cause).Str("event", "redis_away").Int64("replicas", g.replicas.Load()).
		Msg("Redis is away: deciding alone")
}

// redisBack takes up the shared state. Every circuit has been read already; what was
// done alone is recorded before anybody relies on it.
func (g *Gate) redisBack(ctx context.Context) error {
	g.modeMu.Lock()
	defer g.modeMu.Unlock()
	if err := g.handOver(ctx); err != nil {
		return err
	}
	g.away.Store(false)
	for _, p := range g.all() {
		p.resume(g.o.Now(), g.hooks.add)
		// A call may have begun while the others were recorded.
		if p.alone.Load() > 0 && p.limited() {
			p.slotsLost.Store(true)
		}
	}
	g.o.Logger.Info().Str("event", "redis_back").Msg("Redis is back")
	return nil
}

// handOver records the calls that were made alone, and what providers asked for
// meanwhile. The local circuit's state is not handed over: a replica that
// has lost the network would open the circuit for all.
func (g *Gate) handOver(ctx context.Context) error {
	now := g.o.Now()
	for _, c := range g.local.Circuits() {
		p := g.provider(c.Provider)
		if err := g.spendAlone(ctx, p, now.Sub(g.since)); err != nil {
			return err
		}
		args, ok := p.handOverArgs(c, now)
		if !ok {
			continue
		}
		if err := g.change(p, throttleScript, args); err != nil {
			return err
		}
	}
	return nil
}

// localTransition tells of a transition of the local gate. It counts only while
// that one decides.
func (g *Gate) localTransition(t resilience.Transition) {
	if g.away.Load() {
		g.provider(t.Provider).changedAlone(t, g.hooks.add)
	}
}
