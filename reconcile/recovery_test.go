package reconcile_test

import (
	"testing"
	"time"

	"backstop/lead"
	"backstop/ledger"
	"backstop/ops"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/reconcile"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

func TestReconcilerLeavesYoungAndLiveLeadsAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.Put("ann.lee@acme.example") // has its task
	young, err := f.Ledger.Accept(t.Context(), replicas.Leads(t, "bo.ray@umbra.example"))
	testkit.NoError(t, err)
	f.Known()
	testkit.NoError(t, reconcile.New(f.Reconciler).Step(t.Context()))
	testkit.Equal(t, "young lead", f.States(young[0]), queue.States{})
	f.Reconcile()
	testkit.Equal(t, "the same later", f.States(young[0]), queue.States{Enrich: "pending"})
	testkit.Equal(t, "rescued", f.Seen.RescuedTo(queue.QueueEnrich), 1)
}

func TestArchivedTaskThatNobodySettledGetsItsFallback(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	testkit.NoError(t, f.Inspector.ArchiveTask(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1)))
	f.Reconcile()
	testkit.Equal(t, "states", f.States(a), queue.States{Enrich: "archived", Fallback: "pending"})
	f.Start()
	o := f.Outcome(a)
	testkit.Equal(t, "status", o.Status, lead.StatusPartial)
	testkit.Equal(t, "calls", f.Sandbox.Books().Providers["clearbit"].Calls, 0)
}

func TestProgressThatCannotBeReadEndsInTheFallback(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	damaged := []byte(`{"generation":"one"}`)
	accepted := f.Put("ann.lee@acme.example", "bo.ray@umbra.example")
	for _, a := range accepted {
		_, err := f.Ledger.SaveAttempt(t.Context(), ledger.Attempt{LeadID: a.LeadID, Generation: 1, Progress: damaged})
		testkit.NoError(t, err)
	}
	// One still has its task, the other is found by the reconciler.
	testkit.NoError(t, f.Inspector.DeleteTask(queue.QueueEnrich, queue.EnrichID(accepted[1].LeadID, 1)))
	f.Reconcile()
	f.Start()
	for _, a := range accepted {
		testkit.Equal(t, "status", f.Outcome(a).Status, lead.StatusPartial)
	}
	f.Becomes(accepted[0], queue.States{Enrich: "archived"})
}

// A run that was reopened while the reconciler looked at the one before is not
// judged by the tasks of that one.
func TestReconcilerDoesNotEndAReplayThatBeginsMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	accepted := f.Put("ann.lee@acme.example", "bo.ray@umbra.example")
	for _, a := range accepted {
		testkit.NoError(t, f.Inspector.ArchiveTask(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1)))
	}
	page, err := f.Ledger.LivePage(t.Context(), "", time.Time{}, 10)
	testkit.NoError(t, err)
	_, err = f.Ledger.Settle(t.Context(), ledger.Settlement{LeadID: accepted[1].LeadID, Generation: 1, Status: lead.StatusPartial})
	testkit.NoError(t, err)
	_, err = f.Ledger.Reopen(t.Context(), []lead.Run{{LeadID: accepted[1].LeadID, Generation: 1}})
	testkit.NoError(t, err)
	testkit.NoError(t, reconcile.New(f.Reconciler).Examine(t.Context(), page))
	testkit.Equal(t, "the one that nobody settled", f.States(accepted[0]).Fallback, "pending")
	testkit.Equal(t, "the one that runs again", f.States(accepted[1]).Fallback, "")
}

func TestLeadsComeBackAfterRedisLostEverything(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{
		Latency: sandbox.Latency{Min: 50 * time.Millisecond, Max: 200 * time.Millisecond},
		Faults:  []sandbox.Fault{{Provider: "clearbit", Status: 503, Calls: 1, Share: 0.5}},
	})
	f.Start()
	f.Start() // a second replica
	const n = 60
	accepted := f.Put(replicas.Emails(n)...)
	testkit.Eventually(t, replicas.Soon, "some leads are settled and some are not", func() bool {
		return f.Audit(0).Settled.Total() >= n/4
	})
	f.Redis.FlushAll()
	f.Reconcile()
	for _, a := range accepted {
		testkit.Equal(t, "status", f.Outcome(a).Status, lead.StatusEnriched)
	}
	testkit.Equal(t, "audit", f.Audit(time.Hour), ops.AuditCounts{Accepted: n, Settled: ops.SettledCounts{Enriched: n}})
	if _, err := f.Inspector.GetQueueInfo(queue.QueueEnrich); err != nil {
		t.Errorf("asynq's inspector: %v", err)
	}
	for _, a := range accepted {
		if calls := f.Sandbox.CallsFor("clearbit", a.Lead.Email); calls > 3 {
			t.Errorf("%d calls about one lead", calls)
		}
	}
}
