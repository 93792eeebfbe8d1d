package resilience

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"backstop/lead"
)

// A PanicError is the panic of a call, with its stack.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return "a provider's client panicked" }

// A Timeout says how long a call may take. It is called when the call has its permit,
// for which it may have waited. With an error the call is not made.
type Timeout func() (time.Duration, error)

// Within is a [Timeout] that is always the same.
func Within(d time.Duration) Timeout { return func() (time.Duration, error) { return d, nil } }

// Do makes one call behind a gate. It acquires a permit, runs call under its time-out,
// tells the gate how it ended, and returns when the call began; began is zero if it was
// not made.
//
// The error is the gate's *[Refusal]; the timeout's; ctx's own when the caller went
// away, or context.Canceled when this process was frozen meanwhile, and the call then
// counts for nothing; or a *[PanicError], and the call then counts as failed.
func Do(ctx context.Context, g Gate, provider string, timeout Timeout, now func() time.Time, call func(context.Context) Result) (began time.Time, err error) {
	permit, err := g.Acquire(ctx, provider)
	if err != nil {
		return time.Time{}, err
	}
	longest, err := timeout()
	if err != nil {
		permit.Done(Result{})
		return time.Time{}, err
	}
	began = now()
	r, err := protected(ctx, longest, call)
	if p, ok := permit.(Interruptible); ok && r.Class == lead.ClassTransient && p.Interrupted() {
		permit.Done(Result{})
		return began, context.Canceled
	}
	permit.Done(r)
	switch {
	case r.Class != "":
		return began, err
	case ctx.Err() != nil: // cancelled: no answer, and nobody's failure
		return began, ctx.Err()
	}
	return began, fmt.Errorf("call %s: %w", provider, errNoClass)
}

var errNoClass = errors.New("the call ended without a class")

// protected runs the call under its deadline and turns a panic into a failure, so
// that a fault of one client cannot take a probe's lease or a slot with it.
func protected(ctx context.Context, timeout time.Duration, call func(context.Context) Result) (r Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			r, err = Result{Class: lead.ClassTransient}, &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return call(ctx), nil
}
