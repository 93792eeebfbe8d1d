package reconcile_test

import (
	"errors"
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

func TestWhatIsTooOldIsDeletedWithItsTasks(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(replicas.Down("")))
	f.Deps.Chain.Retry = replicas.Quick
	stop := f.Start()
	accepted := f.Put("ann.lee@acme.example", "bo.ray@umbra.example")
	for _, a := range accepted {
		f.Outcome(a)
		f.Becomes(a, queue.States{Enrich: "archived"})
	}
	stop()
	open := f.Put("cy.fox@umbra.example")[0]
	f.Reconciler.Retention = reconcile.Retention{Outcomes: time.Hour, Trails: 30 * time.Second} // the step is made a minute from now
	f.Known()
	f.Reconcile()
	for _, a := range accepted {
		o, err := f.Ledger.Outcome(t.Context(), a.LeadID)
		testkit.NoError(t, err)
		if o.Status != lead.StatusPartial || len(o.Trail) != 0 {
			t.Errorf("%s with a trail of %d entries", o.Status, len(o.Trail))
		}
	}
	f.Reconciler.Retention = reconcile.Retention{Outcomes: 30 * time.Second}
	f.Reconcile()
	for _, a := range accepted {
		if _, err := f.Ledger.Get(t.Context(), a.LeadID); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("a lead is left: %v", err)
		}
		testkit.Equal(t, "its tasks", f.States(a), queue.States{})
	}
	testkit.Equal(t, "the open one", f.States(open), queue.States{Enrich: "pending"})
	testkit.Equal(t, "the books", f.Audit(0), ops.AuditCounts{Accepted: 1, Open: 1})
}

// Once the ledger has forgotten a lead nothing would find its tasks any more.
func TestALeadIsNotDeletedWhoseTasksCannotBe(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(replicas.Down("")))
	f.Deps.Chain.Retry = replicas.Quick
	stop := f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	f.Outcome(a)
	f.Becomes(a, queue.States{Enrich: "archived"})
	stop()
	f.Reconciler.Retention = reconcile.Retention{Outcomes: time.Millisecond}
	r := reconcile.New(f.Reconciler)
	f.Redis.Kill()
	if err := r.Expire(t.Context()); err == nil {
		t.Error("it says that it could")
	}
	if _, err := f.Ledger.Get(t.Context(), a.LeadID); err != nil {
		t.Errorf("the lead is gone: %v", err)
	}
}

// Changes of circuits are the ledger's own records: they expire whatever the retention is.
func TestOldCircuitEventsExpireWithoutARetention(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	for _, age := range []time.Duration{ledger.CircuitEventAge + time.Hour, time.Hour} {
		testkit.NoError(t, f.Ledger.RecordTransition(t.Context(), ledger.CircuitEvent{
			Provider: "clearbit", From: "closed", To: "open", Replica: "a", At: time.Now().Add(-age),
		}))
	}
	f.Reconcile()
	m, err := f.Ledger.Measures(t.Context(), time.Time{})
	testkit.NoError(t, err)
	testkit.Equal(t, "trips that are remembered", m.Trips, map[string]int64{"clearbit": 1})
}
