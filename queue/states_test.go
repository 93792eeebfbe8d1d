package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

// States reads asynq's own keys, so it is held against asynq's inspector for
// every state that a task can be in.
func TestStatesAgreeWithTheInspector(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	accepted := f.Put(replicas.Emails(6)...)
	pending, active, retry, archived, scheduled, none := accepted[0], accepted[1], accepted[2], accepted[3], accepted[4], accepted[5]
	testkit.NoError(t, f.Inspector.ArchiveTask(queue.QueueEnrich, queue.EnrichID(archived.LeadID, 1)))
	for _, a := range []ledger.Accepted{pending, scheduled, none} {
		testkit.NoError(t, f.Inspector.DeleteTask(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1)))
	}

	// A server without the handlers of this package keeps two tasks where they are.
	release := make(chan struct{})
	server := asynq.NewServerFromRedisClient(f.RDB, asynq.Config{
		Queues: map[string]int{queue.QueueEnrich: 1}, Concurrency: 2, TaskCheckInterval: 10 * time.Millisecond, LogLevel: asynq.FatalLevel,
		IsFailure: func(error) bool { return false }, RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Hour },
	})
	testkit.NoError(t, server.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
		p, err := queue.DecodePayload(task.Payload())
		if err == nil && p.LeadID == active.LeadID {
			<-release
		}
		return errors.New("comes back in an hour")
	})))
	defer server.Shutdown()
	defer close(release)
	f.Becomes(retry, queue.States{Enrich: "retry"})
	f.Becomes(active, queue.States{Enrich: "active"})
	testkit.NoError(t, f.Inspector.PauseQueue(queue.QueueEnrich))
	_, err := f.Queue.Enrich(t.Context(), replicas.PayloadOf(pending))
	testkit.NoError(t, err)
	_, err = f.Queue.ArmFallback(t.Context(), replicas.PayloadOf(scheduled), time.Now().Add(time.Hour))
	testkit.NoError(t, err)

	refs := make([]lead.Run, len(accepted))
	for i, a := range accepted {
		refs[i] = lead.Run{LeadID: a.LeadID, Generation: a.Generation}
	}
	var states []queue.States
	testkit.Eventually(t, replicas.Soon, "the paused queue keeps its task", func() bool {
		states, err = f.Queue.States(t.Context(), refs)
		testkit.NoError(t, err)
		return states[0].Enrich == "pending"
	})
	for i, want := range []struct {
		queue.States
		live, archived bool
	}{
		{queue.States{Enrich: "pending"}, true, false},
		{queue.States{Enrich: "active"}, true, false},
		{queue.States{Enrich: "retry"}, true, false},
		{queue.States{Enrich: "archived"}, false, true},
		{queue.States{Fallback: "scheduled"}, true, false},
		{queue.States{}, false, false},
	} {
		testkit.Equal(t, "states", states[i], want.States)
		testkit.Equal(t, "what the inspector says", states[i], queue.States{
			f.inspected(queue.QueueEnrich, queue.EnrichID(refs[i].LeadID, 1)), f.inspected(queue.QueueFallback, queue.FallbackID(refs[i].LeadID, 1)),
		})
		testkit.Equal(t, "live", states[i].Live(), want.live)
		testkit.Equal(t, "archived", states[i].Archived(), want.archived)
	}
}

// inspected is a task's state according to asynq, "" when there is no task.
func (f *fleet) inspected(queue, id string) string {
	f.T.Helper()
	info, err := f.Inspector.GetTaskInfo(queue, id)
	if errors.Is(err, asynq.ErrTaskNotFound) {
		return ""
	}
	testkit.NoError(f.T, err)
	return info.State.String()
}

func TestStatesOfNoLeads(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	states, err := f.Queue.States(t.Context(), nil)
	if err != nil || len(states) != 0 {
		t.Errorf("%v, %v", states, err)
	}
}

func TestStatesAreAnErrorWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.Redis.Kill()
	if _, err := f.Queue.States(t.Context(), []lead.Run{{LeadID: "ld_x", Generation: 1}}); err == nil {
		t.Error("a Redis that cannot be reached looks like one without tasks")
	}
}
