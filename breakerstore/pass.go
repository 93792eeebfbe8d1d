package breakerstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"backstop/resilience"
)

// A pass is one call that was let through.
type pass struct {
	gate  *Gate
	p     *provider
	gen   int64             // of the circuit when the call began
	local resilience.Permit // the local gate's, if that one let it through
	probe bool
	ended atomic.Bool
}

// Probe implements [resilience.Permit].
func (s *pass) Probe() bool {
	if s.local != nil {
		return s.local.Probe()
	}
	return s.probe
}

// Done implements [resilience.Permit]. It asks Redis nothing for a good call.
func (s *pass) Done(r resilience.Result) {
	if !s.ended.CompareAndSwap(false, true) {
		return
	}
	if s.local != nil {
		s.local.Done(r)
	}
	// What the provider asked for goes first: a probe that is given back must not
	// be taken before the pause is known.
	s.obey(r)
	if s.local == nil {
		s.report(r)
	}
}

// obey passes on what the provider asked for. The local gate remembers it as
// long as Redis is away, and hands it over when it is back.
func (s *pass) obey(r resilience.Result) {
	args, ok := s.p.holdArgs(r, time.Now())
	if !ok {
		return
	}
	if s.gate.away.Load() {
		if s.local == nil {
			s.gate.local.Observe(s.p.cfg.Provider, r)
		}
		return
	}
	if err := s.gate.change(s.p, holdScript, args); err != nil {
		s.gate.lost(err)
		s.gate.local.Observe(s.p.cfg.Provider, r)
	}
}

// report tells the circuit of a failure and of what became of a probe.
func (s *pass) report(r resilience.Result) {
	outcome := "neutral"
	switch {
	case resilience.IsFailure(r.Class):
		outcome = "failure"
	case resilience.IsSuccess(r.Class):
		outcome = "success"
	}
	if !s.probe && outcome != "failure" {
		if outcome == "success" && s.p.cfg.FailureRatio > 0 {
			s.p.calls.Add(1)
		}
		return
	}
	// While Redis is away the result is lost: it belongs to the shared circuit, and
	// the local one has begun anew.
	if s.gate.away.Load() {
		return
	}
	if err := s.gate.change(s.p, reportScript, s.p.reportArgs(s.gen, outcome, s.probe)); err != nil {
		s.gate.lost(err)
	}
}

// change runs a script and adopts the circuit that it replies, also when the
// reply comes too late for the caller.
func (g *Gate) change(p *provider, script *redis.Script, args []any) error {
	_, err := ask(context.Background(), g, g.o.Timeout, func(ctx context.Context) (struct{}, error) {
		reply, err := g.run(ctx, script, p, args...)
		if err == nil && len(reply) == 1 { // there is no circuit
			if err = g.restore(ctx, p); err == nil {
				reply, err = g.run(ctx, script, p, args...)
			}
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
		return fmt.Errorf("tell Redis of %s: %w", p.cfg.Provider, err)
	}
	return nil
}
