package breakerstore

// Slots: the times at which calls of a limited provider may start.

import (
	"context"
	"fmt"
	"time"

	"backstop/resilience"
)

// The codes with which acquire.lua replies.
const (
	granted = iota
	missing
	isOpen
	isProbing
	isPaused
	isSuspended
	noSlotYet
)

// A slot is the reply of acquire.lua.
type slot struct {
	code     int64
	wait     time.Duration // until the slot, or until it is worth asking again; negative: somebody has to act
	probe    bool
	gen      int64
	epoch    int64 // of the Redis that keeps the slot
	at       int64 // the slot by Redis's clock
	received time.Time
}

// takeSlot runs acquire.lua.
func (g *Gate) takeSlot(ctx context.Context, p *provider, maxWait time.Duration) (slot, error) {
	reply, err := g.run(ctx, acquireScript, p, p.acquireArgs(maxWait)...)
	if err != nil {
		return slot{}, fmt.Errorf("reserve a slot: %w", err)
	}
	s := slot{received: g.o.Now()}
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
	c, err := snapshotOf(reply)
	if err != nil {
		return s, err
	}
	s.wait, s.probe, s.gen = micros(wait), probe == 1, c.gen
	s.epoch = c.epoch
	s.at = c.now + wait
	if s.code == granted && p.limited() {
		// For the day Redis is away. The slot counts from now on, also before it has come.
		g.local.Spend(p.cfg.Provider, s.received.Add(s.wait))
	}
	g.adopt(p, c)
	return s, nil
}

// moveSlot moves a slot to now whose caller is so late that a limit could be
// broken, and returns the new time by Redis's clock; 0 if a limit would be broken
// all the same, and the slot is lost.
func (g *Gate) moveSlot(ctx context.Context, p *provider, s slot, late time.Duration) (at int64, err error) {
	args := []any{s.at}
	for _, l := range p.cfg.Limits {
		if l.Guard()/2 <= late {
			args = append(args, l.Rate, (l.Per + l.Guard()/2).Microseconds())
		}
	}
	reply, err := g.runBounded(ctx, moveScript, p, args...)
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

// restoreSlots records this replica's recent calls again in a Redis that lost them.
func (g *Gate) restoreSlots(ctx context.Context, p *provider) error {
	if !p.slotsLost.CompareAndSwap(true, false) {
		return nil
	}
	if err := g.spend(ctx, p, g.local.Spent(p.cfg.Provider), 0, 0); err != nil {
		p.slotsLost.Store(true)
		return err
	}
	return nil
}

// spendAlone records the calls that were made while this replica was without Redis.
func (g *Gate) spendAlone(ctx context.Context, p *provider, away time.Duration) error {
	n := min(int(p.alone.Swap(0)), g.local.Spent(p.cfg.Provider))
	share := p.spacing * time.Duration(g.replicas.Load())
	ahead := share * time.Duration(p.maxAhead(share))
	return g.spend(ctx, p, n, p.burst(), away-ahead)
}

// spend records n calls as made now; spend.lua says what burst and away are.
func (g *Gate) spend(ctx context.Context, p *provider, n, burst int, away time.Duration) error {
	if n+burst == 0 || !p.limited() {
		return nil
	}
	_, err := g.runBounded(ctx, spendScript, p, n, p.keep, p.keepFor().Microseconds(), burst, away.Microseconds())
	if err != nil {
		return fmt.Errorf("record the calls made meanwhile: %w", err)
	}
	return nil
}
