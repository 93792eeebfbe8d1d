package tasks_test

import (
	"context"
	"testing"
	"time"

	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/tasks"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

func TestFallbackIsArmedAgainWhenRedisWasAway(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	arm := tasks.NewJob(f.Deps, replicas.PayloadOf(a), ledger.Record{}, nil).Hooks().Arm
	f.Redis.Kill()
	testkit.Equal(t, "armed while Redis is away", arm(t.Context(), time.Now().Add(time.Hour)), false)
	f.Restart()
	testkit.Equal(t, "armed", arm(t.Context(), time.Now().Add(time.Hour)), true)
	testkit.Equal(t, "armed twice", arm(t.Context(), time.Now().Add(time.Hour)), true)
	testkit.Equal(t, "states", f.States(a), queue.States{Fallback: "scheduled"})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	b := f.Put("bo.ray@umbra.example")[0]
	arm = tasks.NewJob(f.Deps, replicas.PayloadOf(b), ledger.Record{}, nil).Hooks().Arm
	testkit.Equal(t, "armed although the walk was cut short", arm(cancelled, time.Now().Add(time.Hour)), true)
}
