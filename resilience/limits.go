package resilience

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"backstop/lead"
)

// A Limit is one of a provider's rate limits: no more than Rate calls in any
// window of the length Per, by all replicas together.
type Limit struct {
	Rate int
	Per  time.Duration
}

func (l Limit) String() string { return fmt.Sprintf("%d per %s", l.Rate, l.Per) }

// Every is the spacing of calls that keeps the limit without bursts.
func (l Limit) Every() time.Duration { return l.Per / time.Duration(l.Rate) }

// GateConfig says how a gate treats one provider.
type GateConfig struct {
	Provider string
	Limits   []Limit       // none: unlimited
	Failures int           // so many failures …
	Window   time.Duration // … in a rolling window of this length open the circuit
	Cooldown time.Duration // an open circuit allows one probe after so long
	Timeout  time.Duration // the longest that one call can take

	// MaxWait is the longest that Acquire waits for a slot; a longer wait is
	// refused with ReasonRate, so that no worker is blocked meanwhile.
	MaxWait time.Duration
	// MaxPause caps how long a provider's "wait" is believed.
	MaxPause time.Duration

	// FailureRatio opens the circuit, beside the count of Failures, when so large
	// a part of at least MinCalls calls in the window failed. 0: off.
	FailureRatio float64
	MinCalls     int
	// MaxCooldown lets the cooldown double after each failed probe, up to this.
	// 0: it stays the same.
	MaxCooldown time.Duration
	// Fingerprint stands for the credentials in use, without revealing them: a
	// keyed or salted hash. A provider that refused the key (class auth) is suspended
	// for the replicas with this fingerprint only, so that a new key ends the suspension.
	Fingerprint string
}

// The defaults of [GateConfig.WithDefaults].
const (
	DefaultFailures = 5
	DefaultWindow   = 120 * time.Second
	DefaultCooldown = 30 * time.Second
	DefaultTimeout  = 5 * time.Second
	DefaultMaxWait  = 2 * time.Second
	DefaultMaxPause = 15 * time.Minute
)

// WithDefaults returns c with every zero value replaced by its default.
func (c GateConfig) WithDefaults() GateConfig {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if c.Failures == 0 {
		c.Failures = DefaultFailures
	}
	def(&c.Window, DefaultWindow)
	def(&c.Cooldown, DefaultCooldown)
	def(&c.Timeout, DefaultTimeout)
	def(&c.MaxWait, DefaultMaxWait)
	def(&c.MaxPause, DefaultMaxPause)
	return c
}

// Validate reports what a gate cannot work with.
func (c GateConfig) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("provider %q: "+format, append([]any{c.Provider}, args...)...)
	}
	for _, l := range c.Limits {
		if l.Rate <= 0 || l.Per < time.Millisecond {
			return bad("limit %s: needs a rate of at least 1 and a period of at least 1ms", l)
		}
	}
	for what, d := range map[string]time.Duration{
		"window": c.Window, "cooldown": c.Cooldown, "timeout": c.Timeout, "max_wait": c.MaxWait,
		"max_pause": c.MaxPause, "max_cooldown": c.MaxCooldown,
	} {
		if d < 0 {
			return bad("%s is negative", what)
		}
	}
	switch {
	case c.Provider == "":
		return errors.New("a provider has no name")
	case c.Failures < 0 || c.MinCalls < 0:
		return bad("a count is negative")
	case c.FailureRatio < 0 || c.FailureRatio > 1:
		return bad("failure ratio %g is not between 0 and 1", c.FailureRatio)
	}
	return nil
}

// How a gate reacts to what a provider says about its load.
const (
	// SlowBy is what remains of the rate after a rate_limited answer …
	SlowBy = 0.7
	// … which has this effect at most once in SlowEvery.
	SlowEvery = time.Second
	// MinRate is the part of the rate below which it is not lowered.
	MinRate = 0.05
	// Climb is the part of the full rate that is regained each second.
	Climb = 0.01
	// DefaultPause is the pause after a rate_limited answer that names none.
	DefaultPause = time.Second
	// maxSuspension caps how far away the renewal of a quota is believed to be.
	maxSuspension = 32 * 24 * time.Hour
)

// Indefinitely is the end of a suspension that lasts until the configuration changes
// or an operator closes the circuit.
var Indefinitely = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// margin is by how much calls are kept further apart than the limits demand,
// because they reach the provider less evenly than they leave the gate.
const margin = 0.02

// maxGuard caps the margin of a window.
const maxGuard = 250 * time.Millisecond

// Guard is how much longer than Per the gate takes the window to be: a call that
// leaves this much after its slot still keeps the limit.
func (l Limit) Guard() time.Duration {
	return min(time.Duration(margin*float64(l.Per)), maxGuard)
}

// Spacing is the distance at which a gate keeps the calls of a provider with
// these limits: that of the limit with the shortest window, with a margin. A
// limit that would spread single calls by more than a second (1,000 a day) is
// kept by counting alone, so that leads do not wait while calls are left.
func Spacing(limits []Limit) time.Duration {
	if len(limits) == 0 {
		return 0
	}
	shortest := slices.MinFunc(limits, func(a, b Limit) int { return cmp.Compare(a.Per, b.Per) })
	if shortest.Every() > time.Second {
		return 0
	}
	return time.Duration((1 + margin) * float64(shortest.Every()))
}

// PerSecond is the rate in calls a second that the tightest of the limits allows;
// 0 without limits.
func PerSecond(limits []Limit) float64 {
	var lowest float64
	for _, l := range limits {
		if r := float64(l.Rate) / l.Per.Seconds(); lowest == 0 || r < lowest {
			lowest = r
		}
	}
	return lowest
}

// PauseFor is how long the provider is to be left alone after r, by all; the
// provider's word is capped at MaxPause. A pending answer's wait concerns one
// lead only.
func (c GateConfig) PauseFor(r Result) time.Duration {
	switch r.Class {
	case lead.ClassPending, lead.ClassQuotaExhausted, lead.ClassAuth:
		return 0
	case lead.ClassRateLimited:
		if r.Wait <= 0 {
			return DefaultPause
		}
	}
	return min(max(r.Wait, 0), c.MaxPause)
}

// SuspendUntil is when the provider may be called again after r; zero if r does not
// suspend it.
func (c GateConfig) SuspendUntil(r Result, now time.Time) time.Time {
	switch r.Class {
	case lead.ClassAuth:
		return Indefinitely
	case lead.ClassQuotaExhausted:
		latest := now.Add(maxSuspension)
		switch {
		case r.Until.After(latest):
			return latest
		case r.Until.After(now):
			return r.Until
		case r.Wait > 0:
			return now.Add(min(r.Wait, maxSuspension))
		}
		return now.Add(c.MaxPause)
	}
	return time.Time{}
}

// NextCooldown is the cooldown after a failed probe, last being the one before.
func (c GateConfig) NextCooldown(last time.Duration) time.Duration {
	if c.MaxCooldown <= c.Cooldown {
		return c.Cooldown
	}
	return min(2*last, c.MaxCooldown)
}

// Lease is how long a probe may be away: longer than any call, so that there is
// never a second probe while the first one is at work.
func (c GateConfig) Lease() time.Duration { return c.Timeout + max(c.Timeout/2, time.Second) }
