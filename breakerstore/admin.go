package breakerstore

// What operators call.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"backstop/resilience"
)

// adminTimeout is how long an operator waits for Redis.
const adminTimeout = 5 * time.Second

// Circuits reports every provider that the gate knows, by name. It reads the shared
// state, and does not need a replica that works. While Redis is away it reports what this replica
// decides alone; one that never reached Redis has nothing to report and returns
// an error.
func (g *Gate) Circuits(ctx context.Context) ([]resilience.Circuit, error) {
	all := g.all()
	slices.SortFunc(all, func(a, b *provider) int { return strings.Compare(a.cfg.Provider, b.cfg.Provider) })
	if g.away.Load() && g.active.Load() {
		return g.local.Circuits(), nil
	}
	readings, err := callRedis(ctx, g, adminTimeout, func(ctx context.Context) ([]reading, error) {
		return g.read(ctx, all)
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("read circuits: %w", err)
	}
	now := g.o.Now()
	out := make([]resilience.Circuit, len(all))
	for i, p := range all {
		out[i] = newCircuit(readings[i].snapshot, now, p.fingerprint()).report(p.cfg, readings[i].failures, now)
	}
	return out, nil
}

// Open opens a provider's circuit by hand, until Close is called for it. It needs Redis.
func (g *Gate) Open(ctx context.Context, provider string) error {
	return g.byHand(ctx, provider, "open")
}

// Close closes a provider's circuit by hand, ends its pause or suspension and restores
// its rate. It needs Redis.
func (g *Gate) Close(ctx context.Context, provider string) error {
	return g.byHand(ctx, provider, "close")
}

func (g *Gate) byHand(ctx context.Context, name, what string) error {
	if strings.ContainsAny(name, "{}\t\n") || name == "" {
		return fmt.Errorf("%s circuit: %q is no provider's name", what, name)
	}
	p := g.provider(name)
	err := g.bounded(ctx, adminTimeout, func(ctx context.Context) error {
		// To tell of a change, the replica has to know what was so before.
		readings, err := g.read(ctx, []*provider{p})
		if err != nil {
			return err
		}
		g.adopt(p, readings[0].snapshot)
		_, err = g.apply(ctx, switchScript, p, []any{what})
		return err
	})
	if err != nil {
		return fmt.Errorf("%s the circuit of %s: %w", what, name, err)
	}
	return nil
}
