package resilience

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"backstop/lead"
	"backstop/providers"
)

// A PanicError is a panic of a provider's client, with its stack.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return "a provider's client panicked" }

// errNoTime is the end of a call that was let pass too late to be made.
var errNoTime = errors.New("no time left in the budget")

// Ask passes the gate and makes one call, which ends at the latest after timeout.
// It returns the answer and when the call began. The error is the gate's
// *[Refusal], ctx's own when the caller went away (the call then counts for
// nothing), or a *[PanicError] beside a transient answer.
func Ask(ctx context.Context, g Gate, provider string, timeout time.Duration, call providers.Call, now func() time.Time) (a providers.Answer, began time.Time, err error) {
	return ask(ctx, g, provider, func() (time.Duration, bool) { return timeout, true }, call, now, noClaim{})
}

// ask is Ask with a timeout that is looked at when the gate has let the call
// pass, which may take a while. If it is false then, the error is errNoTime and
// the call, which was not made, counts for nothing.
//
// The answer is kept before anything else happens with it: what comes after may
// fail, or be the last that this process does.
func ask(ctx context.Context, g Gate, provider string, timeout func() (time.Duration, bool), call providers.Call, now func() time.Time, claim Claim) (a providers.Answer, began time.Time, err error) {
	defer claim.End(ctx, providers.Answer{}) // unless it is ended below
	pass, err := g.Enter(ctx, provider)
	if err != nil {
		return providers.Answer{}, time.Time{}, err
	}
	longest, ok := timeout()
	if !ok {
		pass.Done(Result{})
		return providers.Answer{}, time.Time{}, errNoTime
	}
	began = now()
	a, err = do(ctx, longest, call)
	if i, ok := pass.(Interruptible); ok && a.Class == lead.ClassTransient && i.Interrupted() {
		pass.Done(Result{})
		return providers.Answer{}, began, context.Canceled
	}
	claim.End(ctx, a)
	if a.Class == "" { // cancelled: no answer, and nobody's failure
		pass.Done(Result{})
		if err := ctx.Err(); err != nil {
			return providers.Answer{}, began, err
		}
		return providers.Answer{}, began, errors.New("the call ended without a class")
	}
	pass.Done(Result{Class: a.Class, Wait: a.Wait, Until: a.Until})
	return a, began, err
}

// do makes the call under its deadline and turns a panic into a failed answer,
// so that a fault of one client cannot take a probe's lease or a slot with it.
func do(ctx context.Context, timeout time.Duration, call providers.Call) (a providers.Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			a = providers.Answer{Class: lead.ClassTransient, Detail: "the client panicked"}
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return call.Do(ctx), nil
}
