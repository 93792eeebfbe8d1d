package breakerstore

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

// Circuits implements [resilience.Gate]. It reads the shared state, and does not
// need a replica that works. While Redis is away it reports what this replica
// decides alone; one that never heard of Redis knows nothing to report.
func (g *Gate) Circuits(ctx context.Context) ([]resilience.Circuit, error) {
	all := g.all()
	slices.SortFunc(all, func(a, b *provider) int { return strings.Compare(a.cfg.Provider, b.cfg.Provider) })
	if g.away.Load() && g.active.Load() {
		return g.local.Circuits(ctx)
	}
	readings, err := ask(ctx, g, adminTimeout, func(ctx context.Context) ([]reading, error) {
		return g.read(ctx, g.rdb, all)
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("read circuits: %w", err)
	}
	now := time.Now()
	out := make([]resilience.Circuit, len(all))
	for i, p := range all {
		if !readings[i].found {
			readings[i].circuit = snapshot{factor: million}
		}
		out[i] = look(readings[i].circuit, now, p.fingerprint()).circuit(p.cfg, readings[i].failures, now)
	}
	return out, nil
}

// Open implements [resilience.Gate]. It needs Redis.
func (g *Gate) Open(ctx context.Context, provider string) error {
	return g.byHand(ctx, provider, "open")
}

// Close implements [resilience.Gate]. It needs Redis.
func (g *Gate) Close(ctx context.Context, provider string) error {
	return g.byHand(ctx, provider, "close")
}

func (g *Gate) byHand(ctx context.Context, name, what string) error {
	if strings.ContainsAny(name, "{}\t\n") || name == "" {
		return fmt.Errorf("%s circuit: %q is no provider's name", what, name)
	}
	p := g.provider(name)
	_, err := ask(ctx, g, adminTimeout, func(ctx context.Context) (struct{}, error) {
		// Only who knows what was so before can tell of a change.
		if err := g.look(ctx, p); err != nil {
			return struct{}{}, err
		}
		reply, err := switchScript.Run(ctx, g.rdb, p.keys, p.args([]any{what})...).Slice()
		if err == nil && len(reply) == 0 {
			err = errReply
		}
		if err != nil {
			return struct{}{}, err
		}
		circuit, err := circuitOf(reply)
		if err != nil {
			return struct{}{}, err
		}
		g.adopt(p, circuit)
		return struct{}{}, nil
	}, nil)
	if err != nil {
		return fmt.Errorf("%s the circuit of %s: %w", what, name, err)
	}
	return nil
}

// look reads a circuit that may not exist yet, which then counts as closed.
func (g *Gate) look(ctx context.Context, p *provider) error {
	readings, err := g.read(ctx, g.rdb, []*provider{p})
	if err != nil {
		return err
	}
	if !readings[0].found {
		readings[0].circuit = snapshot{factor: million}
	}
	g.adopt(p, readings[0].circuit)
	return nil
}
