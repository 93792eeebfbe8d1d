package breakerstore

// The end of a call: what its result tells Redis.

import (
	"sync/atomic"

	"backstop/resilience"
)

// A permit allows one call.
type permit struct {
	gate  *Gate
	p     *provider
	gen   int64             // of the circuit when the call began
	local resilience.Permit // the local gate's, if it gave this one
	probe bool
	ended atomic.Bool
}

// Done implements [resilience.Permit]. A good call does not go to Redis.
func (m *permit) Done(r resilience.Result) {
	if !m.ended.CompareAndSwap(false, true) {
		return
	}
	if m.local != nil {
		m.local.Done(r)
	}
	// What the provider asked for goes first: a probe that is given back must not
	// be taken before the pause is known.
	m.obey(r)
	if m.local == nil {
		m.report(r)
	}
}

// obey passes on what the provider asked for. The local gate remembers it as
// long as Redis is away, and hands it over when it is back.
func (m *permit) obey(r resilience.Result) {
	args, ok := m.p.throttleArgs(r, m.gate.o.Now())
	if !ok {
		return
	}
	if m.gate.away.Load() {
		if m.local == nil {
			m.gate.local.Observe(m.p.cfg.Provider, r)
		}
		return
	}
	if err := m.gate.change(m.p, throttleScript, args); err != nil {
		m.gate.redisLost(err)
		m.gate.local.Observe(m.p.cfg.Provider, r)
	}
}

// report tells the circuit of a failure and of what became of a probe.
func (m *permit) report(r resilience.Result) {
	outcome := "neutral"
	switch {
	case resilience.IsFailure(r.Class):
		outcome = "failure"
	case resilience.IsSuccess(r.Class):
		outcome = "success"
	}
	if !m.probe && outcome != "failure" {
		if outcome == "success" && m.p.cfg.FailureRatio > 0 {
			m.p.calls.Add(1)
		}
		return
	}
	// While Redis is away the result is lost: it belongs to the shared circuit, and
	// the local one has begun anew.
	if m.gate.away.Load() {
		return
	}
	if err := m.gate.change(m.p, reportScript, m.p.reportArgs(m.gen, outcome, m.probe)); err != nil {
		m.gate.redisLost(err)
	}
}
