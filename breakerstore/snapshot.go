package breakerstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/resilience"
)

// million is the unit of parts in Redis, where numbers are whole.
const million = 1_000_000

// A snapshot is a provider's circuit as a script wrote it; lua/lib.lua says what
// the fields mean. Times are microseconds of Redis's clock.
type snapshot struct {
	now, ver, gen, epoch               int64
	state                              gobreaker.State
	manual                             bool
	retry, cooldown, lease             int64
	paused, parked                     int64
	trips, factor, factorAt            int64
	lowered, since, at                 int64
	suspendedFor, auth, replica, cause string
}

// fields is how many values a snapshot's text has.
const fields = 21

// parseSnapshot reads the text that lib.lua's text made.
func parseSnapshot(text string) (snapshot, error) {
	part := strings.Split(text, "\t")
	if len(part) != fields {
		return snapshot{}, fmt.Errorf("circuit of %d fields: %w", len(part), errReply)
	}
	var s snapshot
	var state, manual int64
	for i, to := range []*int64{
		&s.now, &s.ver, &s.gen, &s.epoch, &state, &manual, &s.retry, &s.cooldown, &s.lease, &s.paused, &s.parked,
		&s.trips, &s.factor, &s.factorAt, &s.lowered, &s.since, &s.at,
	} {
		n, err := strconv.ParseInt(part[i], 10, 64)
		if err != nil {
			return snapshot{}, fmt.Errorf("field %d of a circuit: %w", i, errReply)
		}
		*to = n
	}
	if state < 0 || state > int64(gobreaker.StateOpen) {
		return snapshot{}, fmt.Errorf("circuit in state %d: %w", state, errReply)
	}
	s.state, s.manual = gobreaker.State(state), manual == 1
	s.suspendedFor, s.auth, s.replica, s.cause = part[17], part[18], part[19], part[20]
	return s, nil
}

// refuses reports whether a key with this fingerprint was refused.
func (s snapshot) refuses(fingerprint string) bool {
	return strings.Contains(s.auth, " "+fingerprint+" ")
}

// A view is a snapshot as a replica uses it: with deadlines on its own monotonic
// clock. It never changes.
type view struct {
	snapshot
	seen   time.Time // when the snapshot arrived
	free   bool      // nothing keeps a call of an unlimited provider from going
	locked bool      // the provider refused this replica's key

	retryAt, leaseEnd, pausedUntil, suspendedUntil time.Time
}

// look makes a view of a snapshot that arrived at the time seen. A deadline comes
// later by the time the snapshot was on its way, never earlier.
func look(s snapshot, seen time.Time, fingerprint string) *view {
	v := &view{snapshot: s, seen: seen, locked: s.refuses(fingerprint)}
	v.retryAt, v.leaseEnd = v.local(s.retry), v.local(s.lease)
	v.pausedUntil, v.suspendedUntil = v.local(s.paused), v.local(s.parked)
	v.free = s.state == gobreaker.StateClosed && !s.manual && !v.locked &&
		v.pausedUntil.IsZero() && v.suspendedUntil.IsZero()
	return v
}

// local is a deadline on this replica's clock, zero if it is over.
func (v *view) local(deadline int64) time.Time {
	if deadline <= v.now {
		return time.Time{}
	}
	return v.seen.Add(micros(deadline - v.now))
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// refuse is why a call cannot go now, nil if nothing speaks against it or if
// Redis has to be asked for the probe. A pause is not among the reasons.
func (v *view) refuse(provider string, now time.Time) *resilience.Refusal {
	refusal := func(why resilience.Reason, at time.Time) *resilience.Refusal {
		return &resilience.Refusal{Provider: provider, Reason: why, RetryAt: at}
	}
	switch {
	case v.free:
		return nil
	case v.manual:
		return refusal(resilience.ReasonOpen, time.Time{})
	case v.locked:
		return refusal(resilience.ReasonSuspended, time.Time{})
	case v.suspendedUntil.After(now):
		return refusal(resilience.ReasonSuspended, v.suspendedUntil)
	case v.state == gobreaker.StateOpen && v.retryAt.After(now):
		return refusal(resilience.ReasonOpen, v.retryAt)
	case v.state == gobreaker.StateHalfOpen && v.leaseEnd.After(now):
		return refusal(resilience.ReasonProbe, v.leaseEnd)
	}
	return nil
}

// part is the part of the rate that is allowed now.
func (v *view) part(now time.Time) float64 {
	at := micros(v.now-v.factorAt) + now.Sub(v.seen)
	return min(1, float64(v.factor)/million+resilience.Climb*max(0, at.Seconds()))
}

// circuit reports the view in the terms of package resilience.
func (v *view) circuit(cfg resilience.GateConfig, failures int, now time.Time) resilience.Circuit {
	limit := resilience.PerSecond(cfg.Limits)
	c := resilience.Circuit{
		Provider: cfg.Provider,
		State:    v.state.String(),
		Manual:   v.manual,
		Failures: failures,
		Trips:    v.trips,
		Rate:     limit * v.part(now),
		Limit:    limit,
	}
	if v.state == gobreaker.StateOpen && !v.manual {
		c.RetryAt = wall(v.retryAt)
		if v.retryAt.IsZero() {
			c.RetryAt = wall(v.seen) // a probe may go already
		}
	}
	if v.pausedUntil.After(now) {
		c.PausedUntil = wall(v.pausedUntil)
	}
	switch {
	case v.locked:
		c.SuspendedUntil, c.SuspendedFor = resilience.Indefinitely, "auth"
	case v.suspendedUntil.After(now):
		c.SuspendedUntil, c.SuspendedFor = wall(v.suspendedUntil), v.suspendedFor
	}
	return c
}

// wall drops the monotonic reading, which means nothing outside the process.
func wall(t time.Time) time.Time { return t.Round(0) }
