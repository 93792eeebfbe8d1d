package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"backstop/chain"
	"backstop/lead"
	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/tasks"
	"backstop/testkit"
	"backstop/testkit/replicas"

	"github.com/hibiken/asynq"
)

func TestTaskThatIsRunByHandTooEarlyWaitsForItsTime(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(sandbox.Fault{Provider: "clearbit", Status: 503, Calls: 1}))
	f.Deps.Chain.Retry.Base = 3 * time.Second
	f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	f.Becomes(a, queue.States{Enrich: "retry", Fallback: "scheduled"})
	testkit.NoError(t, f.Inspector.RunTask(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1)))
	testkit.Eventually(t, replicas.Soon, "the task is put back", func() bool {
		info, err := f.Inspector.GetTaskInfo(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1))
		return err == nil && info.LastErr == "not due yet" && info.State.String() == "retry"
	})
	o := f.Outcome(a)
	if gap := o.Trail[1].At.Sub(o.Trail[0].At.Time); gap < 3*time.Second {
		t.Errorf("the retry came after %s", gap)
	}
}

func TestTaskOfAnEarlierRunDoesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	_, err := f.Ledger.Settle(t.Context(), ledger.Settlement{LeadID: a.LeadID, Generation: 1, Status: lead.StatusPartial})
	testkit.NoError(t, err)
	reopened, err := f.Ledger.Reopen(t.Context(), []lead.Run{{LeadID: a.LeadID, Generation: 1}})
	testkit.NoError(t, err)
	testkit.Equal(t, "reopened", reopened, []lead.Run{{LeadID: a.LeadID, Generation: 2}})
	testkit.NoError(t, f.Queue.RunFallback(t.Context(), replicas.PayloadOf(a)))
	f.Start()
	f.Becomes(a, queue.States{})
	testkit.Equal(t, "calls", f.Sandbox.Books().Providers["clearbit"].Calls, 0)
	rec, err := f.Ledger.Get(t.Context(), a.LeadID)
	testkit.NoError(t, err)
	testkit.Equal(t, "live", rec.Live(), true)

	a.Generation = 2 // and the second run brings it further
	_, err = f.Queue.Enrich(t.Context(), replicas.PayloadOf(a))
	testkit.NoError(t, err)
	f.Becomes(a, queue.States{})
	testkit.Equal(t, "status", f.Outcome(a).Status, lead.StatusEnriched)
}

func TestWhatAProviderAnsweredIsStoredAfterAShutdownBegan(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	rec, err := f.Ledger.Get(t.Context(), a.LeadID)
	testkit.NoError(t, err)
	progress := chain.NewProgress(a.Lead, 1, time.Now())
	progress.Retries = 2
	j := tasks.NewJob(f.Deps, replicas.PayloadOf(a), rec, progress)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	testkit.NoError(t, j.SaveAttempt(ctx, []lead.TrailEntry{{Attempt: 1, Provider: "clearbit", Class: lead.ClassTransient}}))
	rec, err = f.Ledger.Get(t.Context(), a.LeadID)
	testkit.NoError(t, err)
	stored, err := chain.LoadProgress(rec.Progress, rec.Lead, 1, time.Now())
	testkit.NoError(t, err)
	testkit.Equal(t, "retries", stored.Retries, 2)
}

func TestInterruptedRunIsPutBackAndIsNoFailure(t *testing.T) {
	for _, err := range []error{context.Canceled, context.DeadlineExceeded, fmt.Errorf("wrapped: %w", context.Canceled)} {
		if got := tasks.Interrupted(err); !tasks.IsSnooze(got) || tasks.IsFailure(got) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
	other := errors.New("another")
	if got := tasks.Interrupted(other); got != other {
		t.Errorf("%v becomes %v", other, got)
	}
}

func TestLedgerThatIsAwayForAMomentCostsNoSecondCall(t *testing.T) {
	t.Parallel()
	at, err := url.Parse(testkit.Postgres(t))
	testkit.NoError(t, err)
	proxy := testkit.NewProxy(t, at.Host)
	at.Host = proxy.Addr()
	f := replicas.NewOn(t, sandbox.Script{Latency: sandbox.Latency{Min: 300 * time.Millisecond, Max: 300 * time.Millisecond}}, at.String())
	f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	testkit.Eventually(t, replicas.Soon, "the call is under way", func() bool { return f.Sandbox.Books().Providers["clearbit"].Open == 1 })
	proxy.Cut()
	testkit.Eventually(t, replicas.Soon, "the call has its answer", func() bool { return f.Sandbox.Books().Providers["clearbit"].Open == 0 })
	failed := 0
	testkit.Eventually(t, replicas.Soon, "the ledger is seen to be away for a while", func() bool {
		if f.Ledger.Ping(t.Context()) != nil {
			failed++
		}
		return failed == 40
	})
	proxy.Restore()
	testkit.Equal(t, "status", f.Outcome(a).Status, lead.StatusEnriched)
	testkit.Equal(t, "calls", f.Sandbox.CallsFor("clearbit", "ann.lee@acme.example"), 1)
}

func TestLedgerThatCannotBeReadPutsTheLeadBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	testkit.NoError(t, f.Ledger.Close())
	f.Start()
	f.Becomes(a, queue.States{Enrich: "retry"})
	info, err := f.Inspector.GetTaskInfo(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1))
	testkit.NoError(t, err)
	testkit.Equal(t, "what asynqmon shows", info.LastErr, "the ledger cannot be read")
	testkit.Equal(t, "tries that failed", info.Retried, 0)
	testkit.Equal(t, "calls", f.Sandbox.Books().Providers["clearbit"].Calls, 0)
}

func TestUnreadablePayloadIsArchivedAndBlocksNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	client := asynq.NewClientFromRedisClient(f.RDB)
	bad := []string{"", "not JSON: ann.lee@acme.example", "{}", `{"lead_id":"ld_x","generation":0}`}
	for _, payload := range bad {
		for typ, name := range map[string]string{queue.TypeEnrich: queue.QueueEnrich, queue.TypeFallback: queue.QueueFallback} {
			_, err := client.Enqueue(asynq.NewTask(typ, []byte(payload)), asynq.Queue(name))
			testkit.NoError(t, err)
		}
	}
	f.StartWith(tasks.ServerConfig{Concurrency: 1, Grace: time.Second})
	testkit.Equal(t, "status", f.Outcome(f.Put("ann.lee@acme.example")[0]).Status, lead.StatusEnriched)
	for _, name := range queue.Names {
		testkit.Eventually(t, replicas.Soon, "all bad tasks of "+name+" are archived", func() bool {
			info, err := f.Inspector.GetQueueInfo(name)
			testkit.NoError(t, err)
			return info.Archived == len(bad) && info.Size == len(bad)
		})
		archived, err := f.Inspector.ListArchivedTasks(name)
		testkit.NoError(t, err)
		for _, info := range archived {
			if info.LastErr == "" || strings.Contains(info.LastErr, "@") {
				t.Errorf("the error of a task in the archive is %q", info.LastErr)
			}
		}
	}
}

func TestStoppedReplicaGivesItsLeadsToTheNext(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(sandbox.Fault{Provider: "clearbit", Kind: sandbox.KindHang, Calls: 1}))
	stop := f.StartWith(tasks.ServerConfig{Concurrency: 4, Grace: 100 * time.Millisecond})
	a := f.Put("ann.lee@acme.example")[0]
	testkit.Eventually(t, replicas.Soon, "the call is under way", func() bool { return f.Sandbox.Books().Providers["clearbit"].Open == 1 })
	stop()
	testkit.Equal(t, "states", f.States(a), queue.States{Enrich: "pending"})
	f.Start()
	o := f.Outcome(a)
	testkit.Equal(t, "trail", replicas.Classes(o.Trail), []string{"clearbit ok"}) // the call cut short counts for nothing
	if s := f.Seen.Last(t); s.Retries > 0 {
		t.Errorf("the observer was told %+v", s)
	}
}

func TestATaskOfALeadThatTheLedgerDoesNotKnowIsDropped(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	_, err := f.Queue.Enrich(t.Context(), queue.Payload{LeadID: "ld_erased", RequestID: "req_x", Generation: 1})
	testkit.NoError(t, err)
	testkit.NoError(t, f.Queue.RunFallback(t.Context(), queue.Payload{LeadID: "ld_erased", RequestID: "req_x", Generation: 1}))
	f.Start()
	f.Becomes(ledger.Accepted{LeadID: "ld_erased", Generation: 1}, queue.States{})
}
