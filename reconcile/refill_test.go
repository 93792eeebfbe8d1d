package reconcile_test

import (
	"context"
	"testing"
	"time"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/reconcile"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

// An interrupter cancels the step once so many leads were put back.
type interrupter struct {
	*replicas.Observed
	after  int
	cancel context.CancelFunc
}

func (i *interrupter) Rescued(n int, to string) {
	i.Observed.Rescued(n, to)
	if i.RescuedTo(to) == i.after {
		i.cancel()
	}
}

// withoutTasks accepts leads of which Redis knows nothing, as after FLUSHALL.
func (f *fleet) withoutTasks(n int) []ledger.Accepted {
	f.T.Helper()
	accepted, err := f.Ledger.Accept(f.T.Context(), replicas.Leads(f.T, replicas.Emails(n)...))
	testkit.NoError(f.T, err)
	runs := make([]lead.Run, n)
	for i, a := range accepted {
		runs[i] = lead.Run{LeadID: a.LeadID, Generation: 1}
	}
	testkit.NoError(f.T, f.Ledger.MarkEnqueued(f.T.Context(), runs))
	return accepted
}

// pending is how many enrichments wait.
func (f *fleet) pending() int {
	f.T.Helper()
	n, err := f.RDB.LLen(f.T.Context(), "asynq:{enrich}:pending").Result()
	testkit.NoError(f.T, err)
	return int(n)
}

// halfway makes a reconciler that was interrupted in the middle of refilling Redis.
func (f *fleet) halfway(n int) *reconcile.Reconciler {
	f.T.Helper()
	ctx, cancel := context.WithCancel(f.T.Context())
	c := f.Reconciler
	c.Observer = &interrupter{Observed: f.Seen, after: n, cancel: cancel}
	r := reconcile.New(c)
	if err := r.Step(ctx); err == nil {
		f.T.Fatal("the step was not interrupted")
	}
	return r
}

// refills makes the reconciler's steps until so many enrichments wait: a few at most.
func (f *fleet) refills(r *reconcile.Reconciler, n int) {
	f.T.Helper()
	for steps := 0; f.pending() < n; steps++ {
		if steps == 20 {
			f.T.Fatalf("%d of %d leads are queued", f.pending(), n)
		}
		testkit.NoError(f.T, r.Step(f.T.Context()))
	}
}

// Redis counts as filled only after the last lead: what an error midway left out is not
// left to the slow sweep, which takes 500 leads a second and none that are younger than
// its grace.
func TestARefillThatWasInterruptedGoesOnToItsEnd(t *testing.T) {
	t.Parallel()
	const n = 3*reconcile.PageSize + 7
	f := newFleet(t, sandbox.Script{})
	f.withoutTasks(n)
	r := f.halfway(reconcile.PageSize + 100)
	if f.pending() == n {
		t.Fatal("nothing is left to do")
	}
	f.refills(r, n)
}

// The replica that takes over does not know how far the other one came.
func TestARefillIsTakenOverFromTheBeginning(t *testing.T) {
	t.Parallel()
	const n = 2*reconcile.PageSize + 7
	f := newFleet(t, sandbox.Script{})
	f.withoutTasks(n)
	f.halfway(reconcile.PageSize + 100)
	testkit.NoError(t, f.RDB.Del(t.Context(), "backstop:tasks:reconciler").Err())
	other := reconcile.New(f.Reconciler)
	f.refills(other, n)
}

func TestARedisThatIsEmptiedDuringItsRefillIsRefilledWhole(t *testing.T) {
	t.Parallel()
	const n = 2*reconcile.PageSize + 7
	f := newFleet(t, sandbox.Script{})
	f.withoutTasks(n)
	r := f.halfway(reconcile.PageSize + 100)
	testkit.NoError(t, f.RDB.FlushAll(t.Context()).Err())
	f.refills(r, n)
}

// What cannot be done of a step keeps nothing else from being done: here the ledger is
// away, and a task of a dead worker that needs no ledger goes back all the same.
func TestAPartOfAStepThatFailsDoesNotKeepTheOthersFromTheirWork(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	now := time.Now()
	c := f.Reconciler
	c.Now = func() time.Time { return now }
	r := reconcile.New(c)
	const foreign = "somebody-elses-task"
	testkit.NoError(t, f.RDB.RPush(t.Context(), asynqKey(queue.QueueEnrich, "pending"), foreign).Err())
	f.takes(queue.QueueEnrich, foreign)
	testkit.NoError(t, f.Ledger.Close())
	for until := now.Add(reconcile.RescueAfter); !now.After(until); now = now.Add(time.Second) {
		if err := r.Step(t.Context()); err == nil {
			t.Error("the step does not say that the ledger is away")
		}
	}
	testkit.Equal(t, "tasks that wait", f.pending(), 1)
}
