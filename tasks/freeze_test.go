package tasks_test

import (
	"backstop/lead"
	"backstop/resilience"
	"backstop/tasks"
	"backstop/testkit"
	"context"
	"errors"
	"testing"
	"time"
)

func TestAWorkerThatWakesBeginsNoCall(t *testing.T) {
	now := time.Now()
	p := tasks.NewFreezeDetector(func() time.Time { return now })
	run, end := p.Run(t.Context())
	defer end()
	now = now.Add(tasks.FreezeAfter)
	testkit.Equal(t, "a pause within bounds", p.Beat(), false)
	testkit.NoError(t, run.Err())
	now = now.Add(tasks.FreezeAfter + time.Millisecond)
	testkit.Equal(t, "a stop", p.Beat(), true)
	<-run.Done()
	next, end := p.Run(t.Context())
	defer end()
	testkit.NoError(t, next.Err())
}

// A call that the process slept through proves nothing about the provider.
func TestACallThatAStopRanIntoIsNobodysFailure(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	p := tasks.NewFreezeDetector(clock)
	local := resilience.NewLocalGate([]resilience.GateConfig{{Provider: "clearbit", Failures: 1}}, resilience.LocalOptions{})
	gate := p.Guard(local)
	var told resilience.Result
	call := func(sleep time.Duration) func(context.Context) resilience.Result {
		return func(context.Context) resilience.Result {
			now = now.Add(sleep)
			told = resilience.Result{Class: lead.ClassTransient}
			return told
		}
	}
	_, err := resilience.Do(t.Context(), gate, "clearbit", resilience.Within(time.Second), clock, call(tasks.FreezeAfter+time.Second))
	testkit.Equal(t, "the run is interrupted", errors.Is(err, context.Canceled), true)
	told = resilience.Result{}
	_, err = resilience.Do(t.Context(), gate, "clearbit", resilience.Within(time.Second), clock, call(0))
	testkit.NoError(t, err) // the circuit is closed still
	testkit.Equal(t, "class of a failure while awake", told.Class, lead.ClassTransient)
	circuits := local.Circuits()
	testkit.Equal(t, "the circuit after it", circuits[0].State, "open")
}
