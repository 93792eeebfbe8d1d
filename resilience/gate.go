package resilience

import (
	"context"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/lead"
)

// A Gate decides whether a call to a provider may begin. It knows each provider's
// circuit, rate limits, pauses and suspensions.
type Gate interface {
	// Acquire waits for a slot, no longer than the provider's MaxWait, and returns a
	// Permit for one call, which must be ended with Done. Otherwise the error is a
	// *[Refusal], or ctx's own.
	Acquire(ctx context.Context, provider string) (Permit, error)
}

// A Permit allows one call.
type Permit interface {
	// Done reports how the call ended. Calls after the first do nothing.
	Done(Result)
}

// Interruptible is a Permit that knows whether this process was stopped (SIGSTOP, a
// frozen machine) while it was held. A call that failed then proves nothing about
// its provider.
type Interruptible interface{ Interrupted() bool }

// A Result is what a gate needs to know of a call.
type Result struct {
	Class lead.Class    // "" when the call was cancelled: neutral
	Wait  time.Duration // the provider asked to be left alone for so long; 0 if it did not
	Until time.Time     // the provider's quota is used up until then; zero if it did not say
}

// A Reason says why a gate refused.
type Reason string

// The reasons for a refusal.
const (
	ReasonOpen      Reason = "circuit_open" // too many failures; RetryAt is when a probe may go
	ReasonProbe     Reason = "probing"      // half-open and another call is the probe
	ReasonPaused    Reason = "paused"       // the provider asked to be left alone until RetryAt
	ReasonSuspended Reason = "suspended"    // out of quota, or its key was refused
	ReasonRate      Reason = "rate"         // the next free slot, at RetryAt, is further away than MaxWait
)

// A Refusal is the error of a gate that gave no permit.
// For ReasonOpen it is gobreaker.ErrOpenState and for ReasonProbe
// gobreaker.ErrTooManyRequests under errors.Is.
type Refusal struct {
	Provider string
	Reason   Reason
	RetryAt  time.Time // when it may be worth asking again; zero: not until somebody acts
}

func (r *Refusal) Error() string {
	if r.RetryAt.IsZero() {
		return fmt.Sprintf("%s: %s until an operator closes it", r.Provider, r.Reason)
	}
	return fmt.Sprintf("%s: %s until %s", r.Provider, r.Reason, lead.At(r.RetryAt))
}

// Is makes a Refusal comparable to gobreaker's errors.
func (r *Refusal) Is(target error) bool {
	switch r.Reason {
	case ReasonOpen:
		return target == gobreaker.ErrOpenState
	case ReasonProbe:
		return target == gobreaker.ErrTooManyRequests
	}
	return false
}

// MustWait reports whether the lead should wait for this provider rather than go
// on to the next one.
func (r *Refusal) MustWait() bool { return r.Reason == ReasonRate || r.Reason == ReasonPaused }

// A Circuit is a provider's state as a gate sees it.
type Circuit struct {
	Provider       string    `json:"provider"`
	State          string    `json:"state"`  // closed, open, half-open
	Manual         bool      `json:"manual"` // opened by hand
	Failures       int       `json:"failures"`
	Trips          int64     `json:"trips"`                    // times it opened since it was first seen
	RetryAt        time.Time `json:"retry_at,omitzero"`        // when an open circuit allows a probe
	PausedUntil    time.Time `json:"paused_until,omitzero"`    // the provider asked for it
	SuspendedUntil time.Time `json:"suspended_until,omitzero"` // out of quota; far in the future: until somebody acts
	SuspendedFor   string    `json:"suspended_for,omitempty"`  // quota_exhausted or auth
	Rate           float64   `json:"rate"`                     // calls a second now allowed; 0: unlimited
	Limit          float64   `json:"limit"`                    // calls a second configured; 0: unlimited
}

// A Transition is a change of a circuit's state, handed to hooks.
type Transition struct {
	Provider string
	From, To gobreaker.State
	Own      bool // made by this replica; otherwise only observed by it
	At       time.Time
	Reason   string // "5 failures in 2m0s", "probe succeeded", "by hand"
}

// IsFailure reports whether an answer of this class counts against the
// provider's circuit.
func IsFailure(c lead.Class) bool { return c == lead.ClassTransient }

// IsSuccess reports whether an answer of this class shows that the provider
// works. What is neither success nor failure is neutral: it counts for nothing
// and gives a probe back.
func IsSuccess(c lead.Class) bool {
	switch c {
	case lead.ClassOK, lead.ClassPartial, lead.ClassNoData, lead.ClassInvalidInput, lead.ClassForbidden:
		return true
	}
	return false
}
