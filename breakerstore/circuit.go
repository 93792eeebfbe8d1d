package breakerstore

// A circuit as this replica uses it.

import (
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/resilience"
)

// A circuit is a snapshot as a replica uses it: with deadlines on its own monotonic
// clock. It never changes.
type circuit struct {
	snapshot
	seen       time.Time // when the snapshot arrived
	free       bool      // nothing keeps a call of an unlimited provider from going
	keyRefused bool      // the provider refused this replica's key

	retryAt, leaseEnd, pausedUntil, suspendedUntil time.Time
}

// newCircuit makes a circuit of a snapshot that arrived at the time seen. A deadline comes
// later by the time the snapshot was on its way, never earlier.
func newCircuit(s snapshot, seen time.Time, fingerprint string) *circuit {
	c := &circuit{snapshot: s, seen: seen, keyRefused: s.refuses(fingerprint)}
	c.retryAt, c.leaseEnd = c.local(s.retry), c.local(s.lease)
	c.pausedUntil, c.suspendedUntil = c.local(s.paused), c.local(s.suspended)
	c.free = s.state == gobreaker.StateClosed && !s.manual && !c.keyRefused &&
		c.pausedUntil.IsZero() && c.suspendedUntil.IsZero()
	return c
}

// local is a deadline on this replica's clock, zero if it is over.
func (c *circuit) local(deadline int64) time.Time {
	if deadline <= c.now {
		return time.Time{}
	}
	return c.seen.Add(micros(deadline - c.now))
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// refuse is why a call cannot go now, nil if nothing speaks against it or if
// Redis has to be asked for the probe. A pause is not among the reasons.
func (c *circuit) refuse(provider string, now time.Time) *resilience.Refusal {
	refusal := func(why resilience.Reason, at time.Time) *resilience.Refusal {
		return &resilience.Refusal{Provider: provider, Reason: why, RetryAt: at}
	}
	switch {
	case c.free:
		return nil
	case c.manual:
		return refusal(resilience.ReasonOpen, time.Time{})
	case c.keyRefused:
		return refusal(resilience.ReasonSuspended, time.Time{})
	case c.suspendedUntil.After(now):
		return refusal(resilience.ReasonSuspended, c.suspendedUntil)
	case c.state == gobreaker.StateOpen && c.retryAt.After(now):
		return refusal(resilience.ReasonOpen, c.retryAt)
	case c.state == gobreaker.StateHalfOpen && c.leaseEnd.After(now):
		return refusal(resilience.ReasonProbe, c.leaseEnd)
	}
	return nil
}

// part is the part of the rate that is allowed now.
func (c *circuit) part(now time.Time) float64 {
	at := micros(c.now-c.factorAt) + now.Sub(c.seen)
	return min(1, float64(c.factor)/million+resilience.Climb*max(0, at.Seconds()))
}

// report is the circuit in the terms of package resilience.
func (c *circuit) report(cfg resilience.GateConfig, failures int, now time.Time) resilience.Circuit {
	limit := resilience.PerSecond(cfg.Limits)
	out := resilience.Circuit{
		Provider: cfg.Provider,
		State:    c.state.String(),
		Manual:   c.manual,
		Failures: failures,
		Trips:    c.trips,
		Rate:     limit * c.part(now),
		Limit:    limit,
	}
	if c.state == gobreaker.StateOpen && !c.manual {
		out.RetryAt = wall(c.retryAt)
		if c.retryAt.IsZero() {
			out.RetryAt = wall(c.seen) // a probe may go already
		}
	}
	if c.pausedUntil.After(now) {
		out.PausedUntil = wall(c.pausedUntil)
	}
	switch {
	case c.keyRefused:
		out.SuspendedUntil, out.SuspendedFor = resilience.Indefinitely, "auth"
	case c.suspendedUntil.After(now):
		out.SuspendedUntil, out.SuspendedFor = wall(c.suspendedUntil), c.suspendedFor
	}
	return out
}

// wall drops the monotonic reading, which means nothing outside the process.
func wall(t time.Time) time.Time { return t.Round(0) }
