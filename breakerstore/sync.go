package breakerstore

// A circuit's way between Redis and this replica.

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// A reading is the reply of read.lua. A circuit that does not exist is a closed one.
type reading struct {
	found    bool
	failures int
	snapshot snapshot
}

func readingOf(reply []any, err error) (reading, error) {
	if err != nil {
		return reading{}, err
	}
	code, err := integer(reply, 0)
	if err != nil || code == 0 {
		return reading{snapshot: snapshot{factor: million}}, err
	}
	failures, err := integer(reply, 1)
	if err != nil {
		return reading{}, err
	}
	s, err := snapshotOf(reply)
	return reading{found: true, failures: int(failures), snapshot: s}, err
}

// read asks for the circuits of all these providers in one round trip.
func (g *Gate) read(ctx context.Context, all []*provider) ([]reading, error) {
	pipe := g.rdb.Pipeline()
	replies := make([]*redis.Cmd, len(all))
	for i, p := range all {
		replies[i] = readScript.EvalSha(ctx, pipe, p.keys, p.args([]any{p.cfg.Window.Microseconds()})...)
	}
	if len(all) > 0 {
		// The error of the pipeline is that of one of its commands, each of which
		// is looked at.
		_, _ = pipe.Exec(ctx)
	}
	out := make([]reading, len(all))
	for i, p := range all {
		reply, err := replies[i].Slice()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			reply, err = g.run(ctx, readScript, p, p.cfg.Window.Microseconds())
		}
		if out[i], err = readingOf(reply, err); err != nil {
			return nil, fmt.Errorf("read the circuit of %s: %w", p.cfg.Provider, err)
		}
	}
	return out, nil
}

// sync brings what this replica knows of one provider up to date.
func (g *Gate) sync(ctx context.Context, p *provider) error {
	return g.bounded(ctx, g.o.Timeout, func(ctx context.Context) error { return g.refresh(ctx, []*provider{p}) })
}

// refresh reads circuits and adopts them. One that is missing, or older than what
// this replica has seen of it, is restored; by a replica that only looks on,
// never.
func (g *Gate) refresh(ctx context.Context, all []*provider) error {
	readings, err := g.read(ctx, all)
	if err != nil {
		return err
	}
	for i, p := range all {
		c, r := p.circuit.Load(), readings[i]
		switch {
		case r.found && (c == nil || r.snapshot.ver >= c.ver):
			g.adopt(p, r.snapshot)
		case g.active.Load():
			if err := g.restore(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// change runs a script that changes a circuit, also when the reply comes too late
// for the caller.
func (g *Gate) change(p *provider, script *redis.Script, args []any) error {
	err := g.bounded(context.Background(), g.o.Timeout, func(ctx context.Context) error {
		found, err := g.apply(ctx, script, p, args)
		if err != nil || found {
			return err
		}
		if err := g.restore(ctx, p); err != nil {
			return err
		}
		if found, err = g.apply(ctx, script, p, args); err == nil && !found {
			err = errReply
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("tell Redis of %s: %w", p.cfg.Provider, err)
	}
	return nil
}

// restore puts back what the replica knows of a circuit that Redis lost.
func (g *Gate) restore(ctx context.Context, p *provider) error {
	_, err := g.apply(ctx, restoreScript, p, p.restoreArgs(p.circuit.Load(), g.o.Now()))
	if err != nil {
		return fmt.Errorf("restore the circuit of %s: %w", p.cfg.Provider, err)
	}
	return nil
}

// apply runs a script and adopts the circuit that it replies; found is false if
// there is none.
func (g *Gate) apply(ctx context.Context, script *redis.Script, p *provider, args []any) (found bool, err error) {
	reply, err := g.run(ctx, script, p, args...)
	if err != nil || len(reply) == 1 {
		return false, err
	}
	s, err := snapshotOf(reply)
	if err != nil {
		return false, err
	}
	g.adopt(p, s)
	return true, nil
}

// adopt takes over a circuit that came from Redis. While Redis is away its
// transitions are not told of: the local gate's are.
func (g *Gate) adopt(p *provider, s snapshot) {
	tell := g.hooks.add
	if g.away.Load() {
		tell = nil
	}
	p.adopt(s, g.o.Now(), g.o.Replica, tell)
}
