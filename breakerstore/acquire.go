package breakerstore

// One caller's way to a permit. It ends in permit.go.

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/clock"
	"backstop/resilience"
)

// Acquire implements [resilience.Gate].
func (g *Gate) Acquire(ctx context.Context, name string) (resilience.Permit, error) {
	p := g.provider(name)
	if c := p.circuit.Load(); c != nil && c.free && !p.limited() && !g.away.Load() && ctx.Err() == nil {
		if !g.active.Load() {
			g.active.Store(true)
		}
		return &permit{gate: g, p: p, gen: c.gen}, nil
	}
	g.active.Store(true)
	a := acquisition{gate: g, p: p, deadline: g.o.Now().Add(p.cfg.MaxWait)}
	for {
		permit, err := a.try(ctx)
		if permit != nil || err != nil {
			return permit, err
		}
	}
}

// An acquisition is one caller's attempt to get a permit.
type acquisition struct {
	gate     *Gate
	p        *provider
	deadline time.Time // the end of MaxWait
	late     int       // times that it came too late for a slot
}

// maxLate is how often a caller may be late before it goes all the same: where
// every round trip takes longer than the limits' margin, it would never go.
const maxLate = 4

// try makes one attempt. With neither a permit nor an error something changed
// meanwhile, and the caller tries again.
func (a *acquisition) try(ctx context.Context) (resilience.Permit, error) {
	g, p := a.gate, a.p
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if g.away.Load() {
		return g.acquireLocal(ctx, p)
	}
	c := p.circuit.Load()
	if c == nil {
		return nil, a.failed(ctx, g.sync(ctx, p))
	}
	now := g.o.Now()
	if err := a.refuse(c, now); err != nil {
		return nil, err
	}
	if p.limited() || c.state != gobreaker.StateClosed {
		return a.reserve(ctx, now)
	}
	if c.pausedUntil.After(now) {
		return nil, clock.Sleep(ctx, c.pausedUntil.Sub(now))
	}
	return &permit{gate: g, p: p, gen: c.gen}, nil
}

// refuse is why this caller cannot get a permit by its deadline; nil if it might.
func (a *acquisition) refuse(c *circuit, now time.Time) error {
	if r := c.refuse(a.p.cfg.Provider, now); r != nil {
		r.RetryAt = wall(r.RetryAt)
		return r
	}
	if c.pausedUntil.After(a.deadline) {
		return &resilience.Refusal{Provider: a.p.cfg.Provider, Reason: resilience.ReasonPaused, RetryAt: wall(c.pausedUntil)}
	}
	return nil
}

// failed goes on without Redis after an error, unless it is the caller's own.
func (a *acquisition) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errShutDown):
		return err
	}
	a.gate.redisLost(err)
	return nil
}

// reserve takes a slot, and the probe when it is due, and waits until it has come.
func (a *acquisition) reserve(ctx context.Context, now time.Time) (resilience.Permit, error) {
	g, p := a.gate, a.p
	share := p.spacing * time.Duration(g.replicas.Load()) // how often this replica gets one
	if at := p.fullUntil(); at.After(a.deadline) {
		return nil, p.noSlot(at, share)
	}
	k, ok, err := p.queue.join(ctx, p.maxAhead(share), now, a.deadline, p.spacing)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, p.noSlot(now.Add(time.Duration(k)*share), share)
	}
	defer p.queue.leave()

	// The wait in the queue may have been long.
	if g.away.Load() {
		return nil, nil
	}
	if err := a.refuse(p.circuit.Load(), g.o.Now()); err != nil {
		return nil, err
	}
	if err := g.restoreSlots(ctx, p); err != nil {
		return nil, a.failed(ctx, err)
	}
	sent := g.o.Now()
	slot, err := callRedis(ctx, g, g.o.Timeout, func(ctx context.Context) (slot, error) {
		return g.takeSlot(ctx, p, a.deadline.Sub(sent))
	}, func(s slot) { g.giveBack(p, s) })
	if err != nil {
		return nil, a.failed(ctx, err)
	}
	return a.use(ctx, slot, sent)
}

// use waits for the slot and lets the call go.
func (a *acquisition) use(ctx context.Context, s slot, sent time.Time) (resilience.Permit, error) {
	g, p := a.gate, a.p
	switch s.code {
	case granted:
	case missing:
		return nil, a.failed(ctx, g.sync(ctx, p))
	case noSlotYet:
		at := g.o.Now().Add(s.wait)
		p.setFull(at)
		return nil, p.noSlot(at, p.spacing*time.Duration(g.replicas.Load()))
	default:
		// The circuit that came with the reply says why, and has been adopted.
		return nil, s.refusal(p.cfg.Provider, g.o.Now())
	}
	if err := clock.Sleep(ctx, s.wait-g.o.Now().Sub(s.received)); err != nil {
		g.giveBack(p, s)
		return nil, err
	}
	if s.probe {
		if p.circuit.Load().gen != s.gen {
			return nil, nil // closed by hand, or the lease ran out
		}
		return &permit{gate: g, p: p, gen: s.gen, probe: true}, nil
	}
	if p.circuit.Load().epoch != s.epoch {
		return nil, nil // Redis lost its data, this slot among them, and may have given it to another
	}
	if ok, err := a.inTime(ctx, s, sent); !ok {
		return nil, a.failed(ctx, err)
	}
	c, now := p.circuit.Load(), g.o.Now()
	if err := a.refuse(c, now); err != nil {
		return nil, err
	}
	if c.pausedUntil.After(now) || c.state != gobreaker.StateClosed {
		return nil, nil
	}
	return &permit{gate: g, p: p, gen: c.gen}, nil
}

// inTime reports whether the caller comes in time for its slot, or could have
// it moved. sent is when the slot was asked for: by the replica's clock it came
// at the earliest when its wait after that was over.
func (a *acquisition) inTime(ctx context.Context, s slot, sent time.Time) (bool, error) {
	now := a.gate.o.Now
	late := now().Sub(sent.Add(s.wait))
	for late > a.p.lateness() && a.late < maxLate {
		began := now()
		at, err := a.gate.moveSlot(ctx, a.p, s, late)
		if err != nil {
			return false, err
		}
		a.late++
		if at == 0 {
			return false, nil
		}
		s.at, late = at, now().Sub(began)
	}
	return true, nil
}

// giveBack lets somebody else have the probe that came with a slot. The slot
// itself stays unused.
func (g *Gate) giveBack(p *provider, s slot) {
	if s.code == granted && s.probe {
		(&permit{gate: g, p: p, gen: s.gen, probe: true}).Done(resilience.Result{})
	}
}

// acquireLocal gets a permit of the local gate.
func (g *Gate) acquireLocal(ctx context.Context, p *provider) (resilience.Permit, error) {
	local, err := g.local.Acquire(ctx, p.cfg.Provider)
	if err != nil {
		return nil, err
	}
	if !g.away.Load() { // Redis came back meanwhile and does not know of this call
		local.Done(resilience.Result{})
		return nil, nil
	}
	p.alone.Add(1)
	return &permit{gate: g, p: p, local: local}, nil
}
