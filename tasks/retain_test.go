package tasks

import (
	"errors"
	"testing"
	"time"

	"backstop/lead"
	"backstop/ledger"
)

func TestWhatIsTooOldIsDeletedWithItsTasks(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(down("")))
	f.deps.Chain.Retry = quick
	stop := f.start()
	accepted := f.put("ann.lee@acme.example", "bo.ray@umbra.example")
	for _, a := range accepted {
		f.outcome(a)
		f.becomes(a, TaskStates{Enrich: "archived"})
	}
	stop()
	open := f.put("cy.fox@umbra.example")[0]
	f.deps.Retention = Retention{Outcomes: time.Hour, Trails: 30 * time.Second} // the step is made a minute from now
	f.epoch()
	f.reconcile()
	for _, a := range accepted {
		o, err := f.ledger.Outcome(t.Context(), a.LeadID)
		noError(t, err)
		if o.Status != lead.StatusPartial || len(o.Trail) != 0 {
			t.Errorf("%s with a trail of %d entries", o.Status, len(o.Trail))
		}
	}
	f.deps.Retention = Retention{Outcomes: 30 * time.Second}
	f.reconcile()
	for _, a := range accepted {
		if _, err := f.ledger.Get(t.Context(), a.LeadID); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("a lead is left: %v", err)
		}
		equal(t, "its tasks", f.states(a), TaskStates{})
	}
	equal(t, "the open one", f.states(open), TaskStates{Enrich: "pending"})
	equal(t, "the books", f.audit(0), Books{Accepted: 1, Open: 1})
}

// Once the ledger has forgotten a lead nothing would find its tasks any more.
func TestALeadIsNotDeletedWhoseTasksCannotBe(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(down("")))
	f.deps.Chain.Retry = quick
	stop := f.start()
	a := f.put("ann.lee@acme.example")[0]
	f.outcome(a)
	f.becomes(a, TaskStates{Enrich: "archived"})
	stop()
	f.deps.Retention = Retention{Outcomes: time.Millisecond}
	r := newReconciler(newHandlers(f.deps))
	f.redis.Kill()
	if err := r.expire(t.Context()); err == nil {
		t.Error("it says that it could")
	}
	if _, err := f.ledger.Get(t.Context(), a.LeadID); err != nil {
		t.Errorf("the lead is gone: %v", err)
	}
}
