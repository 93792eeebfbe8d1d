package resilience

// The gate of one process. It calls down: permit, provider, circuit and slots.

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/clock"
)

// LocalOptions are the options of a [LocalGate]. The zero value is usable.
type LocalOptions struct {
	// Now is the clock of limits and pauses; time.Now by default. Timers and
	// gobreaker's cooldown always follow the runtime's clock.
	Now func() time.Time
	// Hook is told every change of a circuit's state, in order and outside any
	// lock; it may call the gate.
	Hook func(Transition)
}

// A LocalGate is the [Gate] of one process alone. Its circuits are gobreaker's;
// its limits are never exceeded in any sliding window.
type LocalGate struct {
	now   func() time.Time
	hooks transitions

	mu        sync.Mutex // guards what follows; never held together with a provider's
	share     int
	providers map[string]*localProvider
}

// NewLocalGate returns a gate for the configured providers. One that is not
// configured gets the defaults and no limits when it is first called.
func NewLocalGate(configs []GateConfig, o LocalOptions) *LocalGate {
	if o.Now == nil {
		o.Now = time.Now
	}
	g := &LocalGate{
		now:       o.Now,
		hooks:     transitions{hook: o.Hook},
		share:     1,
		providers: make(map[string]*localProvider, len(configs)),
	}
	for _, c := range configs {
		g.providers[c.Provider] = newLocalProvider(c.WithDefaults(), g.share, o.Now)
	}
	return g
}

// SetShare says how many replicas share the limits from now on: each takes its part.
// At first it is one.
func (g *LocalGate) SetShare(n int) {
	g.mu.Lock()
	g.share = max(n, 1)
	n = g.share
	all := g.all()
	g.mu.Unlock()
	for _, p := range all {
		p.mu.Lock()
		p.slots.divide(n)
		p.mu.Unlock()
	}
}

// Acquire implements [Gate].
func (g *LocalGate) Acquire(ctx context.Context, provider string) (Permit, error) {
	p := g.provider(provider)
	deadline := g.now().Add(p.cfg.MaxWait)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		slot, err := g.reserve(p, deadline)
		if err != nil {
			return nil, err
		}
		if err := clock.Sleep(ctx, slot.Sub(g.now())); err != nil {
			p.mu.Lock()
			p.slots.giveBack(slot)
			p.mu.Unlock()
			return nil, err
		}
		// Much may have changed while the slot was awaited.
		permit, err := g.admit(p)
		if permit != nil || err != nil {
			return permit, err
		}
	}
}

// reserve takes the next slot, unless the circuit refuses or it is too far away.
func (g *LocalGate) reserve(p *localProvider, deadline time.Time) (time.Time, error) {
	defer g.hooks.deliver(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reserve(g.now(), deadline)
}

// admit gives the permit of a call whose slot has come. With neither a permit nor an
// error, a pause began meanwhile and the caller needs another slot.
func (g *LocalGate) admit(p *localProvider) (Permit, error) {
	defer g.hooks.deliver(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := g.now()
	if p.pausedUntil.After(now) {
		return nil, nil
	}
	done, probe, err := p.admit(now)
	if err != nil {
		return nil, err
	}
	permit := &localPermit{gate: g, p: p, done: done}
	if probe {
		p.circuit.startProbe(permit, now)
	}
	return permit, nil
}

// Circuits reports every provider that the gate knows, by name.
func (g *LocalGate) Circuits() []Circuit {
	g.mu.Lock()
	all := g.all()
	g.mu.Unlock()
	out := make([]Circuit, 0, len(all))
	for _, p := range all {
		out = append(out, g.report(p))
	}
	slices.SortFunc(out, func(a, b Circuit) int { return strings.Compare(a.Provider, b.Provider) })
	return out
}

func (g *LocalGate) report(p *localProvider) Circuit {
	defer g.hooks.deliver(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.report(g.now())
}

// Adopt takes over what another gate knew of a provider: an open circuit, a pause
// and a suspension. It makes no transitions.
func (g *LocalGate) Adopt(c Circuit) {
	p := g.provider(c.Provider)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := g.now()
	p.pausedUntil = c.PausedUntil
	p.suspendedUntil, p.suspendedFor = c.SuspendedUntil, c.SuspendedFor
	if c.State == gobreaker.StateClosed.String() {
		p.circuit.close()
	} else {
		p.circuit.open(c.RetryAt.Sub(now))
	}
	p.circuit.manual = c.Manual
	p.circuit.trips = c.Trips
	p.circuit.changes = nil
}

// Observe obeys what a provider said in r about pauses, rates and quotas, and
// counts it neither as success nor as failure.
func (g *LocalGate) Observe(provider string, r Result) {
	p := g.provider(provider)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.obey(r, g.now())
}

// Spend records a call at t that another gate allowed, so that it counts against
// the limits here.
func (g *LocalGate) Spend(provider string, t time.Time) {
	p := g.provider(provider)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slots.take(t)
}

// Spent is the number of calls in the longest of the provider's windows.
func (g *LocalGate) Spent(provider string) int {
	p := g.provider(provider)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slots.spent(g.now())
}

func (g *LocalGate) provider(name string) *localProvider {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, ok := g.providers[name]
	if !ok {
		p = newLocalProvider(GateConfig{Provider: name}.WithDefaults(), g.share, g.now)
		g.providers[name] = p
	}
	return p
}

// all lists the providers; the caller has the lock.
func (g *LocalGate) all() []*localProvider { return slices.Collect(maps.Values(g.providers)) }
