package tasks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/testkit"
)

// States reads asynq's own keys, so it is held against asynq's inspector for
// every state that a task can be in.
func TestStatesAgreeWithTheInspector(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	accepted := f.put(emails(6)...)
	pending, active, retry, archived, scheduled, none := accepted[0], accepted[1], accepted[2], accepted[3], accepted[4], accepted[5]
	noError(t, f.inspector.ArchiveTask(QueueEnrich, EnrichID(archived.LeadID, 1)))
	for _, a := range []ledger.Accepted{pending, scheduled, none} {
		noError(t, f.inspector.DeleteTask(QueueEnrich, EnrichID(a.LeadID, 1)))
	}

	// A server without the handlers of this package keeps two tasks where they are.
	release := make(chan struct{})
	server := asynq.NewServerFromRedisClient(f.rdb, asynq.Config{
		Queues: map[string]int{QueueEnrich: 1}, Concurrency: 2, TaskCheckInterval: 10 * time.Millisecond, Logger: asynqLog{f.deps.Log},
		IsFailure: isFailure, RetryDelayFunc: retryDelay(time.Now),
	})
	noError(t, server.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
		p, err := DecodePayload(task.Payload())
		if err == nil && p.LeadID == active.LeadID {
			<-release
		}
		return &Later{At: time.Now().Add(time.Hour)}
	})))
	defer server.Shutdown()
	defer close(release)
	f.becomes(retry, TaskStates{Enrich: "retry"})
	f.becomes(active, TaskStates{Enrich: "active"})
	noError(t, f.inspector.PauseQueue(QueueEnrich))
	_, err := f.queue.Enrich(t.Context(), payloadOf(pending))
	noError(t, err)
	_, err = f.queue.ArmFallback(t.Context(), payloadOf(scheduled), time.Now().Add(time.Hour))
	noError(t, err)

	refs := make([]ledger.Ref, len(accepted))
	for i, a := range accepted {
		refs[i] = ledger.Ref{LeadID: a.LeadID, Generation: a.Generation}
	}
	var states []TaskStates
	testkit.Eventually(t, soon, "the paused queue keeps its task", func() bool {
		states, err = f.queue.States(t.Context(), refs)
		noError(t, err)
		return states[0].Enrich == "pending"
	})
	for i, want := range []struct {
		TaskStates
		live, archived bool
	}{
		{TaskStates{Enrich: "pending"}, true, false},
		{TaskStates{Enrich: "active"}, true, false},
		{TaskStates{Enrich: "retry"}, true, false},
		{TaskStates{Enrich: "archived"}, false, true},
		{TaskStates{Fallback: "scheduled"}, true, false},
		{TaskStates{}, false, false},
	} {
		equal(t, "states", states[i], want.TaskStates)
		equal(t, "what the inspector says", states[i], TaskStates{
			f.inspected(QueueEnrich, EnrichID(refs[i].LeadID, 1)), f.inspected(QueueFallback, FallbackID(refs[i].LeadID, 1)),
		})
		equal(t, "live", states[i].Live(), want.live)
		equal(t, "archived", states[i].Archived(), want.archived)
	}
}

// inspected is a task's state according to asynq, "" when there is no task.
func (f *fleet) inspected(queue, id string) string {
	f.t.Helper()
	info, err := f.inspector.GetTaskInfo(queue, id)
	if errors.Is(err, asynq.ErrTaskNotFound) {
		return ""
	}
	noError(f.t, err)
	return info.State.String()
}

func TestStatesOfNoLeads(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	states, err := f.queue.States(t.Context(), nil)
	if err != nil || len(states) != 0 {
		t.Errorf("%v, %v", states, err)
	}
}

func TestStatesAreAnErrorWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.redis.Kill()
	if _, err := f.queue.States(t.Context(), []ledger.Ref{{LeadID: "ld_x", Generation: 1}}); err == nil {
		t.Error("a Redis that cannot be reached looks like one without tasks")
	}
}
