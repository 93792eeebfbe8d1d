package resilience

import (
	"errors"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/lead"
)

// A localProvider is what a LocalGate knows of one provider.
type localProvider struct {
	cfg GateConfig

	mu             sync.Mutex // guards what follows
	circuit        *localCircuit
	slots          *slots
	pausedUntil    time.Time
	suspendedUntil time.Time
	suspendedFor   string
}

func newLocalProvider(cfg GateConfig, share int, now func() time.Time) *localProvider {
	return &localProvider{cfg: cfg, circuit: newLocalCircuit(cfg, now), slots: newSlots(cfg.Limits, share)}
}

// reserve takes the next slot and says when it is.
func (p *localProvider) reserve(now, deadline time.Time) (time.Time, error) {
	if err := p.refuse(now); err != nil {
		return time.Time{}, err
	}
	slot := p.slots.next(now)
	if p.pausedUntil.After(slot) {
		slot = p.slots.next(p.pausedUntil)
	}
	switch {
	case p.pausedUntil.After(deadline):
		return time.Time{}, p.refusal(ReasonPaused, p.pausedUntil)
	case slot.After(deadline):
		return time.Time{}, p.refusal(ReasonRate, slot)
	}
	p.slots.take(slot)
	return slot, nil
}

// admit asks the circuit for a call that has its slot.
func (p *localProvider) admit(now time.Time) (done func(error), probe bool, err error) {
	if err := p.refuse(now); err != nil {
		return nil, false, err
	}
	done, err = p.circuit.cb.Allow()
	if err != nil {
		return nil, false, p.translate(err, now)
	}
	return done, p.circuit.state() == gobreaker.StateHalfOpen, nil
}

// refuse is the refusal of a provider that is suspended or whose circuit is not
// closed; nil when a call may go.
func (p *localProvider) refuse(now time.Time) error {
	switch {
	case p.circuit.manual:
		return p.refusal(ReasonOpen, time.Time{})
	case p.suspendedUntil.Equal(Indefinitely):
		return p.refusal(ReasonSuspended, time.Time{})
	case p.suspendedUntil.After(now):
		return p.refusal(ReasonSuspended, p.suspendedUntil)
	}
	p.circuit.reclaim(now)
	switch p.circuit.state() {
	case gobreaker.StateOpen:
		return p.translate(gobreaker.ErrOpenState, now)
	case gobreaker.StateHalfOpen:
		if p.circuit.probe != nil {
			return p.translate(gobreaker.ErrTooManyRequests, now)
		}
	}
	return nil
}

// translate makes a Refusal of an error of gobreaker.
func (p *localProvider) translate(err error, now time.Time) error {
	if errors.Is(err, gobreaker.ErrOpenState) {
		return p.refusal(ReasonOpen, p.circuit.retryAt)
	}
	at := now
	if p.circuit.probe != nil {
		at = p.circuit.leaseEnd
	}
	return p.refusal(ReasonProbe, at)
}

func (p *localProvider) refusal(why Reason, at time.Time) error {
	return &Refusal{Provider: p.cfg.Provider, Reason: why, RetryAt: at}
}

// obey does what the provider asked for. Waits are lower bounds: a shorter one
// never cuts a longer one short.
func (p *localProvider) obey(r Result, now time.Time) {
	if pause := p.cfg.PauseFor(r); pause > 0 {
		p.pausedUntil = later(p.pausedUntil, now.Add(pause))
	}
	if r.Class == lead.ClassRateLimited {
		p.slots.slow(now)
	}
	if until := p.cfg.SuspendUntil(r, now); until.After(p.suspendedUntil) {
		p.suspendedUntil, p.suspendedFor = until, string(r.Class)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (p *localProvider) report(now time.Time) Circuit {
	c := Circuit{
		Provider: p.cfg.Provider,
		State:    p.circuit.state().String(),
		Manual:   p.circuit.manual,
		Failures: p.circuit.recent(now),
		Trips:    p.circuit.trips,
		Rate:     p.slots.rate(now),
		Limit:    PerSecond(p.cfg.Limits),
	}
	if c.State == gobreaker.StateOpen.String() && !c.Manual {
		c.RetryAt = p.circuit.retryAt
	}
	if p.pausedUntil.After(now) {
		c.PausedUntil = p.pausedUntil
	}
	if p.suspendedUntil.After(now) {
		c.SuspendedUntil, c.SuspendedFor = p.suspendedUntil, p.suspendedFor
	}
	return c
}
