package breakerstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// A reading is the reply of read.lua.
type reading struct {
	found    bool
	failures int
	circuit  snapshot
}

func readingOf(reply []any, err error) (reading, error) {
	if err != nil {
		return reading{}, err
	}
	if len(reply) == 0 {
		return reading{}, errReply
	}
	code, err := integer(reply, 0)
	if err != nil || code == 0 {
		return reading{}, err
	}
	failures, err := integer(reply, 1)
	if err != nil {
		return reading{}, err
	}
	circuit, err := circuitOf(reply)
	return reading{found: true, failures: int(failures), circuit: circuit}, err
}

// read asks for the circuits of all these providers in one round trip.
func (g *Gate) read(ctx context.Context, rdb redis.UniversalClient, all []*provider) ([]reading, error) {
	pipe := rdb.Pipeline()
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
			reply, err = readScript.Run(ctx, rdb, p.keys, p.args([]any{p.cfg.Window.Microseconds()})...).Slice()
		}
		if out[i], err = readingOf(reply, err); err != nil {
			return nil, fmt.Errorf("read the circuit of %s: %w", p.cfg.Provider, err)
		}
	}
	return out, nil
}

// sync brings the replica's view of one provider up to date.
func (g *Gate) sync(ctx context.Context, p *provider) error {
	_, err := ask(ctx, g, g.o.Timeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, g.refresh(ctx, []*provider{p})
	}, nil)
	return err
}

// refresh reads circuits and adopts them. One that is missing, or older than what
// this replica has seen of it, is restored; by a replica that only looks on,
// never.
func (g *Gate) refresh(ctx context.Context, all []*provider) error {
	readings, err := g.read(ctx, g.rdb, all)
	if err != nil {
		return err
	}
	for i, p := range all {
		v, r := p.view.Load(), readings[i]
		switch {
		case r.found && (v == nil || r.circuit.ver >= v.ver):
			g.adopt(p, r.circuit)
		case g.active.Load():
			if err := g.restore(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// restore puts back what the replica knows of a circuit that Redis lost.
func (g *Gate) restore(ctx context.Context, p *provider) error {
	reply, err := g.run(ctx, restoreScript, p, p.restoreArgs(p.view.Load(), time.Now())...)
	if err != nil {
		return fmt.Errorf("restore the circuit of %s: %w", p.cfg.Provider, err)
	}
	circuit, err := circuitOf(reply)
	if err != nil {
		return err
	}
	g.adopt(p, circuit)
	return nil
}

// lost makes this replica decide alone, from what it knows, until Redis is back.
func (g *Gate) lost(cause error) {
	if g.away.Load() {
		return // not even the lock may be waited for: it is held while Redis is asked
	}
	g.modeMu.Lock()
	defer g.modeMu.Unlock()
	if g.away.Load() || errors.Is(cause, errShut) {
		return
	}
	now := time.Now()
	g.local.SetShare(int(g.replicas.Load()))
	for _, p := range g.all() {
		p.alone.Store(0)
		v := p.view.Load()
		if v == nil {
			continue
		}
		c := v.circuit(p.cfg, 0, now)
		if v.state == gobreaker.StateHalfOpen {
			c.RetryAt = v.leaseEnd // somebody's probe is under way
		}
		g.local.Adopt(c)
	}
	g.since = now
	g.away.Store(true)
	g.o.Logger.Warn().Err(cause).Str("event", "redis_away").Int64("replicas", g.replicas.Load()).
		Msg("Redis is away: deciding alone")
}

// found takes up the shared state. Every circuit has been read already; what was
// done alone is entered before anybody relies on it.
func (g *Gate) found(ctx context.Context) error {
	g.modeMu.Lock()
	defer g.modeMu.Unlock()
	if err := g.handOver(ctx); err != nil {
		return err
	}
	g.away.Store(false)
	for _, p := range g.all() {
		p.resume(time.Now(), g.notices.add)
		// A call may have slipped through while the others were entered.
		if p.alone.Load() > 0 && p.limited() {
			p.owes.Store(true)
		}
	}
	g.o.Logger.Info().Str("event", "redis_back").Msg("Redis is back")
	return nil
}

// handOver enters the calls that were made alone, and what providers asked for
// meanwhile. What the local circuit thought is not handed over: a replica that
// has lost the network would open the circuit for all.
func (g *Gate) handOver(ctx context.Context) error {
	alone, err := g.local.Circuits(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, c := range alone {
		p := g.provider(c.Provider)
		if err := g.enterSpentAlone(ctx, p, g.since); err != nil {
			return err
		}
		args, ok := p.holdsOf(c, now)
		if !ok {
			continue
		}
		if err := g.change(p, holdScript, args); err != nil {
			return err
		}
	}
	return nil
}

// all lists the known providers.
func (g *Gate) all() []*provider {
	known := *g.providers.Load()
	out := make([]*provider, 0, len(known))
	for _, p := range known {
		out = append(out, p)
	}
	return out
}
