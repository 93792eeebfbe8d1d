package resilience

import (
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"
)

// What a circuit is told of calls that were no success.
var (
	errFailed  = errors.New("the call failed")
	errNeutral = errors.New("the call says nothing about the provider")
)

// outcome is what a result means for gobreaker.
func outcome(r Result) error {
	switch {
	case IsFailure(r.Class):
		return errFailed
	case IsSuccess(r.Class):
		return nil
	}
	return errNeutral
}

// buckets is into how many parts the window of the failure ratio is divided.
const buckets = 12

// A localCircuit is gobreaker's two-step circuit breaker with what that one
// lacks: an exact window for the count of failures, a cooldown that grows, a
// probe that cannot get lost, and opening by hand. The provider's lock guards it.
type localCircuit struct {
	cfg GateConfig
	now func() time.Time

	cb       *gobreaker.TwoStepCircuitBreaker[struct{}]
	failures []time.Time // the last cfg.Failures ones, oldest first
	cooldown time.Duration
	retryAt  time.Time
	trips    int64
	manual   bool
	probe    *localPermit
	leaseEnd time.Time

	forced  bool // the breaker is being opened from outside
	why     string
	changes []Transition // to be handed to the hook
}

func newLocalCircuit(cfg GateConfig, now func() time.Time) *localCircuit {
	c := &localCircuit{cfg: cfg, now: now, cooldown: cfg.Cooldown}
	c.cb = c.breaker(cfg.Cooldown)
	return c
}

// breaker returns a closed breaker. Results of calls begun with an earlier one
// still go to that one, and so change nothing.
func (c *localCircuit) breaker(cooldown time.Duration) *gobreaker.TwoStepCircuitBreaker[struct{}] {
	var cb *gobreaker.TwoStepCircuitBreaker[struct{}]
	cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:         c.cfg.Provider,
		MaxRequests:  1,
		Interval:     c.cfg.Window,
		BucketPeriod: max(c.cfg.Window/buckets, 1),
		// gobreaker allows the probe after the time-out, not at its end.
		Timeout: max(cooldown-1, 1),
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return c.forced || c.cb == cb && c.ready(n)
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errNeutral) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if c.cb == cb {
				c.changed(from, to)
			}
		},
	})
	return cb
}

// ready records a failure and decides whether it opens the circuit.
func (c *localCircuit) ready(n gobreaker.Counts) bool {
	now := c.now()
	c.failures = append(c.failures, now)
	if len(c.failures) > c.cfg.Failures {
		c.failures = c.failures[1:]
	}
	if c.recent(now) >= c.cfg.Failures {
		c.why = fmt.Sprintf("%d failures in %s", c.cfg.Failures, c.cfg.Window)
		return true
	}
	ended := n.TotalSuccesses + n.TotalFailures
	if c.cfg.FailureRatio > 0 && ended >= uint32(max(c.cfg.MinCalls, 1)) &&
		float64(n.TotalFailures) >= c.cfg.FailureRatio*float64(ended) {
		c.why = fmt.Sprintf("%d of %d calls failed in %s", n.TotalFailures, ended, c.cfg.Window)
		return true
	}
	return false
}

// recent counts the failures in the window that ends now.
func (c *localCircuit) recent(now time.Time) int {
	n := 0
	for _, t := range c.failures {
		if now.Sub(t) < c.cfg.Window {
			n++
		}
	}
	return n
}

// changed notes a change of state that gobreaker made.
func (c *localCircuit) changed(from, to gobreaker.State) {
	why := c.why
	switch {
	case to == gobreaker.StateHalfOpen:
		why = "cooldown over"
	case to == gobreaker.StateOpen:
		if from == gobreaker.StateHalfOpen {
			why = "probe failed"
			c.cooldown = c.cfg.NextCooldown(c.cooldown)
		}
		c.retryAt = c.now().Add(c.cooldown)
		c.trips++
	case to == gobreaker.StateClosed:
		why = "probe succeeded"
		c.cooldown, c.failures = c.cfg.Cooldown, nil
	}
	c.changes = append(c.changes, Transition{
		Provider: c.cfg.Provider, From: from, To: to, Own: true, At: c.now(), Reason: why,
	})
}

func (c *localCircuit) state() gobreaker.State {
	if c.manual {
		return gobreaker.StateOpen
	}
	return c.cb.State()
}

// startProbe notes that the permit is the probe's.
func (c *localCircuit) startProbe(l *localPermit, now time.Time) {
	c.probe, c.leaseEnd = l, now.Add(c.cfg.Lease())
}

// reclaim gives back a probe that has been away for longer than a call can take.
func (c *localCircuit) reclaim(now time.Time) {
	if c.probe != nil && !now.Before(c.leaseEnd) {
		c.end(c.probe, errNeutral)
	}
}

// end ends a call with its outcome, once. A probe that failed has opened the circuit
// for gobreaker's fixed time-out, which may be too short by now.
func (c *localCircuit) end(l *localPermit, outcome error) {
	l.ended = true
	l.done(outcome)
	if c.probe != l {
		return
	}
	c.probe = nil
	if c.cooldown != c.cfg.Cooldown && c.cb.State() == gobreaker.StateOpen {
		c.force(c.cooldown)
	}
}

// open opens the circuit from outside.
func (c *localCircuit) open(cooldown time.Duration) {
	c.force(cooldown)
	c.retryAt = c.now().Add(cooldown)
}

// close closes the circuit from outside and forgets its failures.
func (c *localCircuit) close() {
	c.manual, c.failures, c.probe = false, nil, nil
	c.cooldown = c.cfg.Cooldown
	c.cb = c.breaker(c.cooldown)
}

// force puts an open breaker in the place of the present one. gobreaker has no
// way to open one but a failure.
func (c *localCircuit) force(cooldown time.Duration) {
	c.probe = nil
	cb := c.breaker(cooldown)
	c.forced = true
	if done, err := cb.Allow(); err == nil {
		done(errFailed)
	}
	c.forced = false
	c.cb = cb
}
