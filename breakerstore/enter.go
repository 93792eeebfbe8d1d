package breakerstore

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/resilience"
)

// Acquire implements [resilience.Gate].
func (g *Gate) Acquire(ctx context.Context, name string) (resilience.Permit, error) {
	p := g.provider(name)
	if v := p.view.Load(); v != nil && v.free && !p.limited() && !g.away.Load() && ctx.Err() == nil {
		if !g.active.Load() {
			g.active.Store(true)
		}
		return &pass{gate: g, p: p, gen: v.gen}, nil
	}
	g.active.Store(true)
	e := entry{gate: g, p: p, deadline: time.Now().Add(p.cfg.MaxWait)}
	for {
		pass, err := e.try(ctx)
		if pass != nil || err != nil {
			return pass, err
		}
	}
}

// An entry is one caller's way through the gate.
type entry struct {
	gate     *Gate
	p        *provider
	deadline time.Time // of its patience
	lost     int       // times that it came too late for a slot
}

// patientLosses is how often a caller may be late before it goes all the same:
// where every round trip takes longer than the limits' margin, it would never go.
const patientLosses = 4

// try makes one attempt. With neither a pass nor an error the world has changed
// and the next attempt looks at it anew.
func (e *entry) try(ctx context.Context) (resilience.Permit, error) {
	g, p := e.gate, e.p
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if g.away.Load() {
		return g.enterAlone(ctx, p)
	}
	v := p.view.Load()
	if v == nil {
		return nil, e.failed(ctx, g.sync(ctx, p))
	}
	now := time.Now()
	if r := e.refuse(v, now); r != nil {
		return nil, r
	}
	if p.limited() || v.state != gobreaker.StateClosed {
		return e.reserve(ctx, now)
	}
	if v.pausedUntil.After(now) {
		return nil, sleep(ctx, v.pausedUntil.Sub(now))
	}
	return &pass{gate: g, p: p, gen: v.gen}, nil
}

// refuse is why this caller cannot get through by its deadline; nil if it might.
func (e *entry) refuse(v *view, now time.Time) error {
	if r := v.refuse(e.p.cfg.Provider, now); r != nil {
		r.RetryAt = wall(r.RetryAt)
		return r
	}
	if v.pausedUntil.After(e.deadline) {
		return &resilience.Refusal{Provider: e.p.cfg.Provider, Reason: resilience.ReasonPaused, RetryAt: wall(v.pausedUntil)}
	}
	return nil
}

// failed goes on without Redis after an error, unless it is the caller's own.
func (e *entry) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errShut):
		return err
	}
	e.gate.lost(err)
	return nil
}

// reserve takes a slot, and the probe when it is due, and waits until it has come.
func (e *entry) reserve(ctx context.Context, now time.Time) (resilience.Permit, error) {
	g, p := e.gate, e.p
	share := p.spacing * time.Duration(g.replicas.Load()) // how often this replica gets one
	if at := p.barrenUntil(); at.After(e.deadline) {
		return nil, p.noSlot(at, share)
	}
	k, ok, err := p.line.join(ctx, p.outstanding(share), now, e.deadline, p.spacing)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, p.noSlot(now.Add(time.Duration(k)*share), share)
	}
	defer p.line.leave()

	// Waiting in line may have taken long.
	if g.away.Load() {
		return nil, nil
	}
	if r := e.refuse(p.view.Load(), time.Now()); r != nil {
		return nil, r
	}
	if err := g.payDebt(ctx, p); err != nil {
		return nil, e.failed(ctx, err)
	}
	sent := time.Now()
	slot, err := ask(ctx, g, g.o.Timeout, func(ctx context.Context) (slot, error) {
		return g.takeSlot(ctx, p, e.deadline.Sub(sent))
	}, func(s slot) { g.giveBack(p, s) })
	if err != nil {
		return nil, e.failed(ctx, err)
	}
	return e.use(ctx, slot, sent)
}

// outstanding is how many slots a replica may hold in advance: few, and fewer
// when the fleet's slots would fill the shortest window or reach too far into the
// others' patience.
func (p *provider) outstanding(share time.Duration) int {
	bound := p.cfg.MaxWait / 2
	for _, l := range p.cfg.Limits {
		bound = min(bound, l.Per)
	}
	if 2*share > bound {
		return 1
	}
	return 2
}

// use waits for the slot and lets the call go.
func (e *entry) use(ctx context.Context, s slot, sent time.Time) (resilience.Permit, error) {
	g, p := e.gate, e.p
	switch s.code {
	case granted:
	case missing:
		return nil, e.failed(ctx, g.sync(ctx, p))
	case noSlotYet:
		at := time.Now().Add(s.wait)
		p.isBarren(at)
		return nil, p.noSlot(at, p.spacing*time.Duration(g.replicas.Load()))
	default:
		// The circuit that came with the reply says why; it is the view by now.
		return nil, s.refusal(p.cfg.Provider, time.Now())
	}
	if err := sleep(ctx, s.wait-time.Since(s.received)); err != nil {
		g.giveBack(p, s)
		return nil, err
	}
	if s.probe {
		if p.view.Load().gen != s.gen {
			return nil, nil // closed by hand, or the lease ran out
		}
		return &pass{gate: g, p: p, gen: s.gen, probe: true}, nil
	}
	if p.view.Load().epoch != s.epoch {
		return nil, nil // Redis lost its data, this slot among them, and may have given it to another
	}
	if ok, err := e.punctual(ctx, s, sent); !ok {
		return nil, e.failed(ctx, err)
	}
	v, now := p.view.Load(), time.Now()
	if r := e.refuse(v, now); r != nil {
		return nil, r
	}
	if v.pausedUntil.After(now) || v.state != gobreaker.StateClosed {
		return nil, nil
	}
	return &pass{gate: g, p: p, gen: v.gen}, nil
}

// punctual reports whether the caller comes in time for its slot, or could have
// it moved. sent is when the slot was asked for: by the replica's clock it came
// at the earliest when its wait after that was over.
func (e *entry) punctual(ctx context.Context, s slot, sent time.Time) (bool, error) {
	late := time.Since(sent.Add(s.wait))
	for late > e.p.lateness() && e.lost < patientLosses {
		began := time.Now()
		at, err := e.gate.moveSlot(ctx, e.p, s, late)
		if err != nil {
			return false, err
		}
		e.lost++
		if at == 0 {
			return false, nil
		}
		s.at, late = at, time.Since(began)
	}
	return true, nil
}

// enterAlone passes the local gate.
func (g *Gate) enterAlone(ctx context.Context, p *provider) (resilience.Permit, error) {
	inner, err := g.local.Acquire(ctx, p.cfg.Provider)
	if err != nil {
		return nil, err
	}
	if !g.away.Load() { // Redis came back meanwhile and does not know of this call
		inner.Done(resilience.Result{})
		return nil, nil
	}
	p.alone.Add(1)
	return &pass{gate: g, p: p, local: inner}, nil
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
