package tasks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/testkit"
)

func emails(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("ann.lee%d@acme%d.example", i, i)
	}
	return out
}

func TestReconcilerLeavesYoungAndLiveLeadsAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.put("ann.lee@acme.example") // has its task
	young, err := f.ledger.Accept(t.Context(), leads(t, "bo.ray@umbra.example"))
	noError(t, err)
	f.epoch()
	r := newReconciler(newHandlers(f.deps))
	r.token = "test"
	noError(t, r.step(t.Context()))
	equal(t, "young lead", f.states(young[0]), TaskStates{})
	f.reconcile()
	equal(t, "the same later", f.states(young[0]), TaskStates{Enrich: "pending"})
	equal(t, "rescued", f.seen.rescued(QueueEnrich), 1)
}

func TestArchivedTaskThatNobodySettledGetsItsFallback(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	noError(t, f.inspector.ArchiveTask(QueueEnrich, EnrichID(a.LeadID, 1)))
	f.reconcile()
	equal(t, "states", f.states(a), TaskStates{Enrich: "archived", Fallback: "pending"})
	f.start()
	o := f.outcome(a)
	equal(t, "status", o.Status, lead.StatusPartial)
	equal(t, "calls", f.sandbox.Books().Providers["clearbit"].Calls, 0)
}

func TestFallbackRunsFromEveryState(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	for i, test := range []struct {
		name    string
		prepare func(Payload) error
	}{
		{"none", func(Payload) error { return nil }},
		{"pending", func(p Payload) error { return f.queue.RunFallback(t.Context(), p) }},
		{"scheduled", func(p Payload) error {
			_, err := f.queue.ArmFallback(t.Context(), p, time.Now().Add(time.Hour))
			return err
		}},
		{"archived", func(p Payload) error {
			if err := f.queue.RunFallback(t.Context(), p); err != nil {
				return err
			}
			return f.inspector.ArchiveTask(QueueFallback, FallbackID(p.LeadID, p.Generation))
		}},
		{"archived by hand and trimmed from the archive", func(p Payload) error {
			id := FallbackID(p.LeadID, p.Generation)
			if err := f.queue.RunFallback(t.Context(), p); err != nil {
				return err
			}
			if err := f.inspector.ArchiveTask(QueueFallback, id); err != nil {
				return err
			}
			return f.rdb.ZRem(t.Context(), "asynq:{fallback}:archived", id).Err()
		}},
	} {
		a := f.put(emails(i + 1)[i])[0]
		noError(t, test.prepare(payloadOf(a)))
		if err := f.queue.RunFallback(t.Context(), payloadOf(a)); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if got := f.states(a).Fallback; got != "pending" {
			t.Errorf("%s: the fallback is %q, want it pending", test.name, got)
		}
	}
}

func TestProgressThatCannotBeReadEndsInTheFallback(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	damaged := []byte(`{"generation":"one"}`)
	accepted := f.put("ann.lee@acme.example", "bo.ray@umbra.example")
	for _, a := range accepted {
		_, err := f.ledger.Record(t.Context(), ledger.Attempt{LeadID: a.LeadID, Generation: 1, Progress: damaged})
		noError(t, err)
	}
	// One still has its task, the other is found by the reconciler.
	noError(t, f.inspector.DeleteTask(QueueEnrich, EnrichID(accepted[1].LeadID, 1)))
	f.reconcile()
	f.start()
	for _, a := range accepted {
		equal(t, "status", f.outcome(a).Status, lead.StatusPartial)
	}
	f.becomes(accepted[0], TaskStates{Enrich: "archived"})
}

func TestUnreadablePayloadIsArchivedAndBlocksNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	client := asynq.NewClientFromRedisClient(f.rdb)
	bad := []string{"", "not JSON: ann.lee@acme.example", "{}", `{"lead_id":"ld_x","generation":0}`}
	for _, payload := range bad {
		for typ, queue := range map[string]string{TypeEnrich: QueueEnrich, TypeFallback: QueueFallback} {
			_, err := client.Enqueue(asynq.NewTask(typ, []byte(payload)), asynq.Queue(queue))
			noError(t, err)
		}
	}
	f.startWith(ServerConfig{Concurrency: 1, Grace: time.Second})
	equal(t, "status", f.outcome(f.put("ann.lee@acme.example")[0]).Status, lead.StatusEnriched)
	for _, queue := range []string{QueueEnrich, QueueFallback} {
		testkit.Eventually(t, soon, "all bad tasks of "+queue+" are archived", func() bool {
			info, err := f.inspector.GetQueueInfo(queue)
			noError(t, err)
			return info.Archived == len(bad) && info.Size == len(bad)
		})
		archived, err := f.inspector.ListArchivedTasks(queue)
		noError(t, err)
		for _, info := range archived {
			if info.LastErr == "" || strings.Contains(info.LastErr, "@") {
				t.Errorf("the error of a task in the archive is %q", info.LastErr)
			}
		}
	}
}

func TestStoppedReplicaGivesItsLeadsToTheNext(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(sandbox.Fault{Provider: "clearbit", Kind: sandbox.KindHang, Calls: 1}))
	stop := f.startWith(ServerConfig{Concurrency: 4, Grace: 100 * time.Millisecond})
	a := f.put("ann.lee@acme.example")[0]
	testkit.Eventually(t, soon, "the call is under way", func() bool { return f.sandbox.Books().Providers["clearbit"].Open == 1 })
	stop()
	equal(t, "states", f.states(a), TaskStates{Enrich: "pending"})
	f.start()
	o := f.outcome(a)
	equal(t, "trail", classes(o.Trail), []string{"clearbit ok"}) // the call cut short counts for nothing
	if s := f.seen.last(t); s.Retried {
		t.Errorf("the observer was told %+v", s)
	}
}

func TestDuplicateGetsItsTaskBackOnlyWhileItHasNoOutcome(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a, err := f.ledger.Accept(t.Context(), leads(t, "ann.lee@acme.example")) // and then the intake died
	noError(t, err)
	again := f.put("ann.lee@acme.example", "Ann.Lee@ACME.example")
	for _, x := range again {
		if !x.Duplicate || x.LeadID != a[0].LeadID || x.RequestID != a[0].RequestID {
			t.Errorf("accepted as %+v", x)
		}
	}
	f.start()
	f.outcome(a[0])
	f.becomes(a[0], TaskStates{})
	f.put("ann.lee@acme.example")
	equal(t, "states", f.states(a[0]), TaskStates{})
	equal(t, "calls", f.sandbox.CallsFor("clearbit", "ann.lee@acme.example"), 1)
}

// A run that was reopened while the reconciler looked at the one before is not
// judged by the tasks of that one.
func TestReconcilerDoesNotEndAReplayThatBeginsMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	accepted := f.put("ann.lee@acme.example", "bo.ray@umbra.example")
	for _, a := range accepted {
		noError(t, f.inspector.ArchiveTask(QueueEnrich, EnrichID(a.LeadID, 1)))
	}
	page, err := f.ledger.LivePage(t.Context(), "", time.Time{}, 10)
	noError(t, err)
	_, err = f.ledger.Settle(t.Context(), ledger.Settlement{LeadID: accepted[1].LeadID, Generation: 1, Status: lead.StatusPartial})
	noError(t, err)
	_, err = f.ledger.Reopen(t.Context(), []ledger.Ref{{LeadID: accepted[1].LeadID, Generation: 1}})
	noError(t, err)
	noError(t, newReconciler(newHandlers(f.deps)).examine(t.Context(), page))
	equal(t, "the one that nobody settled", f.states(accepted[0]).Fallback, "pending")
	equal(t, "the one that runs again", f.states(accepted[1]).Fallback, "")
}

func TestATaskOfALeadThatTheLedgerDoesNotKnowIsDropped(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	_, err := f.queue.Enrich(t.Context(), Payload{LeadID: "ld_erased", RequestID: "req_x", Generation: 1})
	noError(t, err)
	noError(t, f.queue.RunFallback(t.Context(), Payload{LeadID: "ld_erased", RequestID: "req_x", Generation: 1}))
	f.start()
	f.becomes(ledger.Accepted{LeadID: "ld_erased", Generation: 1}, TaskStates{})
}
