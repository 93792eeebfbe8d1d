package breakerstore

import (
	"context"
	"fmt"
	"time"

	"backstop/resilience"
)

// The codes with which enter.lua replies.
const (
	granted = iota
	missing
	isOpen
	isProbing
	isPaused
	isParked
	noSlotYet
)

// A slot is the reply of enter.lua.
type slot struct {
	code     int64
	wait     time.Duration // until the slot, or until it is worth asking again; negative: somebody has to act
	probe    bool
	gen      int64
	epoch    int64 // of the Redis that keeps the slot
	at       int64 // the slot by Redis's clock
	received time.Time
}

// takeSlot runs enter.lua.
func (g *Gate) takeSlot(ctx context.Context, p *provider, patience time.Duration) (slot, error) {
	reply, err := g.run(ctx, enterScript, p, p.enterArgs(patience)...)
	if err != nil {
		return slot{}, fmt.Errorf("reserve a slot: %w", err)
	}
	s := slot{received: time.Now()}
	if s.code, err = integer(reply, 0); err != nil || s.code == missing {
		return s, err
	}
	wait, err := integer(reply, 1)
	if err != nil {
		return s, err
	}
	probe, err := integer(reply, 2)
	if err != nil {
		return s, err
	}
	circuit, err := circuitOf(reply)
	if err != nil {
		return s, err
	}
	s.wait, s.probe, s.gen = micros(wait), probe == 1, circuit.gen
	s.epoch = circuit.epoch
	s.at = circuit.now + wait
	if s.code == granted && p.limited() {
		// For the day Redis is away. The slot counts from now on, also before it has come.
		g.local.Spend(p.cfg.Provider, s.received.Add(s.wait))
	}
	g.adopt(p, circuit)
	return s, nil
}

// moveSlot moves a slot to now whose caller is late by so much that a limit could
// be broken, and returns the new time by Redis's clock; 0 if a limit would be
// broken all the same, and the slot is lost.
func (g *Gate) moveSlot(ctx context.Context, p *provider, s slot, late time.Duration) (at int64, err error) {
	args := []any{s.at}
	for _, l := range p.cfg.Limits {
		if l.Guard()/2 <= late {
			args = append(args, l.Rate, (l.Per + l.Guard()/2).Microseconds())
		}
	}
	reply, err := ask(ctx, g, g.o.Timeout, func(ctx context.Context) ([]any, error) {
		return g.run(ctx, lateScript, p, args...)
	}, nil)
	if err != nil {
		return 0, fmt.Errorf("move a slot: %w", err)
	}
	return integer(reply, 0)
}

// refusal is what the caller gets instead of the slot.
func (s slot) refusal(provider string, now time.Time) *resilience.Refusal {
	r := &resilience.Refusal{Provider: provider}
	switch s.code {
	case isOpen:
		r.Reason = resilience.ReasonOpen
	case isProbing:
		r.Reason = resilience.ReasonProbe
	case isPaused:
		r.Reason = resilience.ReasonPaused
	default:
		r.Reason = resilience.ReasonSuspended
	}
	if s.wait >= 0 {
		r.RetryAt = wall(now.Add(s.wait))
	}
	return r
}

// giveBack lets somebody else have the probe that came with a slot. The slot
// itself passes unused.
func (g *Gate) giveBack(p *provider, s slot) {
	if s.code == granted && s.probe {
		(&pass{gate: g, p: p, gen: s.gen, probe: true}).Done(resilience.Result{})
	}
}

// payDebt enters this replica's recent calls again into a Redis that lost them.
func (g *Gate) payDebt(ctx context.Context, p *provider) error {
	if !p.owes.CompareAndSwap(true, false) {
		return nil
	}
	if err := g.enterSpent(ctx, p, g.local.Spent(p.cfg.Provider), 0, 0); err != nil {
		p.owes.Store(true)
		return err
	}
	return nil
}

// enterSpentAlone enters the calls that were made while this replica was away.
func (g *Gate) enterSpentAlone(ctx context.Context, p *provider, since time.Time) error {
	n := min(int(p.alone.Swap(0)), g.local.Spent(p.cfg.Provider))
	share := p.spacing * time.Duration(g.replicas.Load())
	ahead := share * time.Duration(p.outstanding(share))
	return g.enterSpent(ctx, p, n, p.brief(), time.Since(since)-ahead)
}

// enterSpent enters n calls as made now; spend.lua says what brief and away are.
func (g *Gate) enterSpent(ctx context.Context, p *provider, n, brief int, away time.Duration) error {
	if n+brief == 0 || !p.limited() {
		return nil
	}
	_, err := ask(ctx, g, g.o.Timeout, func(ctx context.Context) ([]any, error) {
		return g.run(ctx, spendScript, p, n, p.keep, p.keepFor().Microseconds(), brief, away.Microseconds())
	}, nil)
	if err != nil {
		return fmt.Errorf("enter the calls made meanwhile: %w", err)
	}
	return nil
}
