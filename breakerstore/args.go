package breakerstore

// The scripts' arguments; the scripts say what they are. Times are passed as
// durations from now.

import (
	"time"

	"backstop/lead"
	"backstop/resilience"
)

func (p *provider) acquireArgs(maxWait time.Duration) []any {
	args := []any{
		p.fingerprint(), max(maxWait, 0).Microseconds(), (2*p.cfg.MaxWait + time.Second).Microseconds(),
		p.cfg.Lease().Microseconds(), int64(resilience.Climb * million), p.spacing.Microseconds(),
		p.keepFor().Microseconds(), p.keep,
	}
	return append(args, p.limits...)
}

func (p *provider) reportArgs(gen int64, outcome string, probe bool) []any {
	var calls int64
	if p.cfg.FailureRatio > 0 {
		calls = p.calls.Swap(0) + 1
	}
	return []any{
		gen, outcome, flag(probe), p.cfg.Failures, p.cfg.Window.Microseconds(), p.cfg.Window.String(),
		p.cfg.Cooldown.Microseconds(), p.cfg.MaxCooldown.Microseconds(),
		int64(p.cfg.FailureRatio * million), p.cfg.MinCalls, calls,
	}
}

// throttleArgs are those for what the provider asked for in r; ok is false when it
// asked for nothing.
func (p *provider) throttleArgs(r resilience.Result, now time.Time) (args []any, ok bool) {
	pause, slow := p.cfg.PauseFor(r), r.Class == lead.ClassRateLimited
	suspend := suspension(p.cfg.SuspendUntil(r, now), now)
	return p.throttle(pause, slow, suspend, string(r.Class)), pause > 0 || slow || suspend != 0
}

// handOverArgs are those for the pause and suspension that the local gate knows; ok
// is false when there are none.
func (p *provider) handOverArgs(c resilience.Circuit, now time.Time) (args []any, ok bool) {
	pause := max(c.PausedUntil.Sub(now), 0)
	suspend := suspension(c.SuspendedUntil, now)
	return p.throttle(pause, false, suspend, c.SuspendedFor), pause > 0 || suspend != 0
}

// suspension is how long a suspension lasts, in microseconds: 0 for none, -1 until
// somebody acts.
func suspension(until, now time.Time) int64 {
	switch {
	case until.Equal(resilience.Indefinitely):
		return -1
	case until.After(now):
		return max(until.Sub(now).Microseconds(), 1)
	}
	return 0
}

func (p *provider) throttle(pause time.Duration, slow bool, suspend int64, class string) []any {
	return []any{
		pause.Microseconds(), flag(slow), int64(resilience.SlowBy * million), int64(resilience.MinRate * million),
		int64(resilience.Climb * million), resilience.SlowEvery.Microseconds(), suspend, class, p.fingerprint(),
	}
}

// restoreArgs are those for all that c, which may be nil, knows.
func (p *provider) restoreArgs(c *circuit, now time.Time) []any {
	spent := 0
	if c == nil {
		c = &circuit{snapshot: snapshot{factor: million}, seen: now}
	} else {
		spent = p.burst()
	}
	left := func(t time.Time) int64 { return max(t.Sub(now).Microseconds(), 0) }
	ago := c.now - c.since + now.Sub(c.seen).Microseconds()
	if c.since == 0 {
		ago = 0
	}
	return []any{
		c.ver, c.gen, int(c.state), flag(c.manual), left(c.retryAt), c.cooldown, left(c.pausedUntil), left(c.suspendedUntil),
		c.trips, int64(c.part(now) * million), c.suspendedFor, c.auth, c.replica, c.cause, ago,
		spent, p.keep, p.keepFor().Microseconds(),
	}
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
