package chaos

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"backstop/queue"
	"backstop/testkit"
)

// asynq's archive keeps 9,999 tasks and deletes older ones without a word.
func TestADeadLetterQueueThatOverflowsLosesNothing(t *testing.T) {
	play(t, scenario{
		Name: "dead-letter overflow", Seed: 100, Faults: size(12000, 200), Leads: size(12000, 200), Replicas: 2, Slots: 32,
		Kind:   func(int) string { return "down" },
		Script: "faults: [{status: 503}]\n", Env: []string{"BACKSTOP_RETRY__MAX=0"},
		Inject: func(r *run) {
			if size(1, 0) == 0 {
				r.fillArchive(9990)
			}
			testkit.Eventually(r.t, 10*time.Minute, "the leads are exhausted", func() bool { return r.left() == 0 })
			r.faults = r.accepted
			if n := r.archived(); n > 9999 {
				r.t.Errorf("the archive holds %d tasks", n)
			}
		},
	})
}

// fillArchive puts n tasks of leads that are long gone into the archive.
func (r *run) fillArchive(n int) {
	r.t.Helper()
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: r.Redis.Addr()})
	defer client.Close()
	for i := range n {
		p := queue.Payload{LeadID: fmt.Sprintf("ld_gone%d", i), RequestID: "req_gone", Generation: 1}
		b, err := p.Encode()
		if err != nil {
			r.t.Fatal(err)
		}
		// In the future, so that no worker takes it before it is in the archive.
		_, err = client.Enqueue(asynq.NewTask(queue.TypeEnrich, b), asynq.TaskID(queue.EnrichID(p.LeadID, 1)),
			asynq.Queue(queue.QueueEnrich), asynq.ProcessIn(time.Hour))
		if err != nil {
			r.t.Fatal(err)
		}
	}
	inspector := asynq.NewInspector(asynq.RedisClientOpt{Addr: r.Redis.Addr()})
	defer inspector.Close()
	if _, err := inspector.ArchiveAllScheduledTasks(queue.QueueEnrich); err != nil {
		r.t.Fatal(err)
	}
}

// archived is how many tasks the archive holds.
func (r *run) archived() int64 {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	n, err := r.Redis.Client().ZCard(ctx, "asynq:{"+queue.QueueEnrich+"}:archived").Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}
