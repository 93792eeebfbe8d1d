package tasks_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/tasks"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

func TestArchivedTaskThatIsRunByHandIsReplayed(t *testing.T) {
	t.Parallel()
	f, accepted := afterOutage(t, 2)
	a, other := accepted[0], accepted[1]
	testkit.NoError(t, f.Inspector.RunTask(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1)))
	o := f.Raised(a)
	testkit.Equal(t, "last call", replicas.Classes(o.Trail)[len(o.Trail)-1], "clearbit ok")
	f.Becomes(a, queue.States{}) // the old task is done, and not in the archive any more
	testkit.Equal(t, "generation", f.Record(a).Generation, 2)
	a.Generation = 2
	f.Becomes(a, queue.States{})
	if log := f.Log.String(); strings.Count(log, `"event":"replayed"`) != 1 {
		t.Errorf("the log says %d times that a lead was replayed", strings.Count(log, `"event":"replayed"`))
	}
	testkit.Equal(t, "the other lead", f.States(other), queue.States{Enrich: "archived"})
	testkit.Equal(t, "its generation", f.Record(other).Generation, 1)
}

// loseAcknowledgement leaves a task as one whose worker's last word did not reach
// Redis: in work, with a lease that ended a minute ago and the message as it was.
// asynq's recoverer finds it when the next server starts.
func (f *fleet) loseAcknowledgement(a ledger.Accepted) {
	f.T.Helper()
	id := queue.EnrichID(a.LeadID, a.Generation)
	_, err := f.RDB.TxPipelined(f.T.Context(), func(p redis.Pipeliner) error {
		p.LRem(f.T.Context(), "asynq:{enrich}:pending", 0, id)
		p.LPush(f.T.Context(), "asynq:{enrich}:active", id)
		p.ZAdd(f.T.Context(), "asynq:{enrich}:lease", redis.Z{Score: float64(time.Now().Add(-time.Minute).Unix()), Member: id})
		p.HSet(f.T.Context(), "asynq:{enrich}:t:"+id, "state", "active")
		return nil
	})
	testkit.NoError(f.T, err)
}

func TestLostAcknowledgementOfASettledLeadIsNoReplay(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	_, err := f.Ledger.Settle(t.Context(), ledger.Settlement{LeadID: a.LeadID, Generation: 1, Status: lead.StatusPartial})
	testkit.NoError(t, err)
	f.loseAcknowledgement(a)
	f.Start()
	f.Becomes(a, queue.States{})
	testkit.Equal(t, "calls", f.Sandbox.Books().Providers["clearbit"].Calls, 0)
	testkit.Equal(t, "generation", f.Record(a).Generation, 1)
}

// The same for a lead that was retried before: its message holds an error too.
func TestTaskThatComesBackAfterARetryIsNoReplay(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(sandbox.Fault{Provider: "clearbit", Status: 503, Calls: 1}))
	f.Deps.Chain.Retry.Base = time.Hour
	f.Deps.Chain.Retry.Budget = 3 * time.Hour
	stop := f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	f.Becomes(a, queue.States{Enrich: "retry", Fallback: "scheduled"})
	stop()
	_, err := f.Ledger.Settle(t.Context(), ledger.Settlement{LeadID: a.LeadID, Generation: 1, Status: lead.StatusPartial})
	testkit.NoError(t, err)
	before := f.Sandbox.Books().Providers["clearbit"].Calls
	testkit.NoError(t, f.Inspector.RunTask(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1)))
	f.Start()
	f.Becomes(a, queue.States{Fallback: "scheduled"})
	testkit.Equal(t, "calls", f.Sandbox.Books().Providers["clearbit"].Calls, before)
	testkit.Equal(t, "generation", f.Record(a).Generation, 1)
}

func TestReplayByHandIsForTheLeadsLastPartialRunOnly(t *testing.T) {
	t.Parallel()
	f, accepted := afterOutage(t, 1)
	a := accepted[0]
	rec := f.Record(a)
	for _, test := range []struct {
		name   string
		change func(*ledger.Record, *queue.Payload)
	}{
		{"an enriched lead", func(r *ledger.Record, _ *queue.Payload) { r.Status = lead.StatusEnriched }},
		{"a suppressed lead", func(r *ledger.Record, _ *queue.Payload) { r.Status = lead.StatusSuppressed }},
		{"a lead that is being replayed", func(r *ledger.Record, _ *queue.Payload) { r.Generation = 2 }},
		{"a lead that was replayed", func(r *ledger.Record, _ *queue.Payload) { r.Generation, r.SettledGeneration = 2, 2 }},
		{"a task that is gone", func(r *ledger.Record, p *queue.Payload) {
			r.LeadID, p.LeadID = "ld_gone", "ld_gone"
		}},
	} {
		r, p := rec, replicas.PayloadOf(a)
		test.change(&r, &p)
		if replayed, err := tasks.ReplayByHand(t.Context(), f.Deps, r, p); replayed || err != nil {
			t.Errorf("%s: %t, %v", test.name, replayed, err)
		}
	}
	testkit.Equal(t, "generation", f.Record(a).Generation, 1)
	for range 2 { // the second time another one has begun it
		_, err := tasks.ReplayByHand(t.Context(), f.Deps, rec, replicas.PayloadOf(a))
		testkit.NoError(t, err)
	}
	testkit.Equal(t, "generation after a replay", f.Record(a).Generation, 2)
}

func TestOnlyTheErrorOfAnArchivedTaskTellsAReplayByHand(t *testing.T) {
	for _, test := range []struct {
		lastErr string
		want    bool
	}{
		{"exhausted: clearbit: transient 503: " + asynq.SkipRetry.Error(), true},
		{tasks.ReplayUnstarted, true},
		{"", false},
		{asynq.ErrLeaseExpired.Error(), false},
		{"clearbit: transient 503; retry 1, of clearbit", false},
		{"interrupted", false},
	} {
		if got := tasks.WasArchived(test.lastErr); got != test.want {
			t.Errorf("%q: got %t", test.lastErr, got)
		}
	}
}

// A replay by hand that could not be started is one still when its task comes back.
func TestReplayByHandThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	f, accepted := afterOutage(t, 1)
	a := accepted[0]
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // as if the ledger could not be written
	err := tasks.SettledAlready(ctx, f.Deps, f.Record(a), replicas.PayloadOf(a))
	if !tasks.IsSnooze(err) || !tasks.WasArchived(err.Error()) {
		t.Errorf("got %v, want that the task is put back as one that is to be replayed", err)
	}
	testkit.Equal(t, "generation", f.Record(a).Generation, 1)
}
