package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"backstop/answers"
	"backstop/lead"
	"backstop/ledger"
	"backstop/providers"
	"backstop/providers/sandbox"
	"backstop/testkit"
)

// remembering gives the fleet kept answers, and returns what erases people from
// all of it.
func (f *fleet) remembering() Eraser {
	f.t.Helper()
	store, err := answers.New(f.rdb, answers.Options{
		Secret:    []byte("a secret that only the tests have"),
		Providers: map[string]answers.Ages{"clearbit": {Positive: time.Hour, Negative: time.Hour}, "hunter": {Positive: time.Hour, Negative: time.Hour}},
		Logger:    f.deps.Log,
	})
	noError(f.t, err)
	f.deps.Chain.Answers, f.deps.ForgetAnswers = store, store.Forget
	return Eraser{Ledger: f.ledger, Queue: f.queue, ForgetAnswers: store.Forget, Log: f.deps.Log}
}

// inRedis is everything that Redis holds, in the clear.
func (f *fleet) inRedis() string {
	f.t.Helper()
	var all strings.Builder
	ctx := f.t.Context()
	keys, err := f.rdb.Keys(ctx, "*").Result()
	noError(f.t, err)
	for _, key := range keys {
		fmt.Fprintln(&all, key)
		switch f.rdb.Type(ctx, key).Val() {
		case "string":
			fmt.Fprintln(&all, f.rdb.Get(ctx, key).Val())
		case "hash":
			fmt.Fprintln(&all, f.rdb.HGetAll(ctx, key).Val())
		case "list":
			fmt.Fprintln(&all, f.rdb.LRange(ctx, key, 0, -1).Val())
		case "set":
			fmt.Fprintln(&all, f.rdb.SMembers(ctx, key).Val())
		case "zset":
			fmt.Fprintln(&all, f.rdb.ZRange(ctx, key, 0, -1).Val())
		}
	}
	return strings.ToLower(all.String())
}

// names holds Redis against the promise that nothing of the person is in it.
func (f *fleet) names(what string, ids ...string) {
	f.t.Helper()
	all := f.inRedis()
	for _, part := range append(ids, "ann.lee", "ann lee", "acme.example") {
		if strings.Contains(all, strings.ToLower(part)) {
			f.t.Errorf("%s: Redis still has %q", what, part)
		}
	}
}

// Leads of one person in every state that a task can have.
func TestAForgottenPersonIsErasedFromEveryQueue(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(down("")))
	e := f.remembering()
	f.deps.Chain.Retry = quick
	stop := f.start()
	archived := f.put("ann.lee+1@acme.example")[0]
	f.outcome(archived)
	f.becomes(archived, TaskStates{Enrich: "archived"})
	f.deps.Chain.Retry.Budget = time.Hour // the next ones wait for their retry until the end of the test
	f.deps.Chain.Retry.Base = 30 * time.Minute
	stop()
	stop = f.start()
	waiting := f.put("ann.lee@acme.example")[0]
	f.becomes(waiting, TaskStates{Enrich: "retry", Fallback: "scheduled"})
	stop()
	pending := f.put("Ann.Lee+news@ACME.example", "bo.ray@umbra.example")
	done := f.put("ann.lee+done@acme.example")[0]
	f.completed(done)

	sum, err := e.Forget(t.Context(), "ANN.LEE@acme.example")
	noError(t, err)
	if sum.Leads != 4 || sum.Outcomes != 1 || sum.Tasks != 5 || !sum.Remembered || sum.UnderWay != 0 || sum.TrailEntries == 0 {
		t.Errorf("it says %+v", sum)
	}
	f.names("after forget", archived.LeadID, waiting.LeadID, pending[0].LeadID, done.LeadID)
	equal(t, "the other lead", f.states(pending[1]), TaskStates{Enrich: "pending"})
	for _, a := range []ledger.Accepted{archived, waiting, pending[0], done} {
		if _, err := f.ledger.Get(t.Context(), a.LeadID); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("the ledger still has a lead: %v", err)
		}
	}
	again, err := e.Forget(t.Context(), "ann.lee@acme.example")
	noError(t, err)
	equal(t, "a second time", again, Erased{Remembered: true})
	equal(t, "the books", f.audit(0).Accepted, int64(1))
}

// completed makes the lead's enrichment a task that asynq keeps after it was done.
func (f *fleet) completed(a ledger.Accepted) {
	f.t.Helper()
	id := EnrichID(a.LeadID, a.Generation)
	ctx := f.t.Context()
	_, err := f.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.LRem(ctx, queueKey(QueueEnrich, "pending"), 0, id)
		p.HSet(ctx, taskKey(QueueEnrich, id), "state", "completed")
		p.ZAdd(ctx, queueKey(QueueEnrich, "completed"), redis.Z{Score: float64(time.Now().Add(time.Hour).Unix()), Member: id})
		return nil
	})
	noError(f.t, err)
	info, err := f.inspector.GetTaskInfo(QueueEnrich, id)
	noError(f.t, err)
	equal(f.t, "the state", info.State, asynq.TaskStateCompleted)
}

func TestAForgottenPersonIsTurnedAwayInEverySpelling(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.remembering()
	_, err := e.Forget(t.Context(), "ann.lee@bücher.example")
	noError(t, err)
	spelled := []string{
		"ann.lee@bücher.example", "ANN.LEE@BÜCHER.EXAMPLE", "ann.lee@xn--bcher-kva.example", "ann.lee+anything@bücher.example", "mailto:Ann.Lee@bücher.example",
	}
	for i, a := range f.put(append(spelled, "ann.leen@bücher.example")...) {
		if a.Suppressed != (i < len(spelled)) {
			t.Errorf("spelling %d: turned away %v", i, a.Suppressed)
		}
	}
	equal(t, "the books", f.audit(0), Books{Accepted: 1, Open: 1})
}

// A worker is in the middle of a call when the person is erased.
func TestALeadThatIsWorkedOnIsErasedToo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(sandbox.Fault{Kind: sandbox.KindHang}))
	e := f.remembering()
	f.start()
	a := f.put("ann.lee@acme.example")[0]
	testkit.Eventually(t, soon, "the call is under way", func() bool { return f.sandbox.CallsFor("clearbit", "ann.lee@acme.example") > 0 })
	sum, err := e.Forget(t.Context(), "ann.lee@acme.example")
	noError(t, err)
	if sum.Leads != 1 || sum.UnderWay != 0 {
		t.Errorf("it says %+v", sum)
	}
	f.becomes(a, TaskStates{})
	f.names("after forget", a.LeadID)
}

// 451 from a provider about one lead: the person's other leads, settled and open,
// in another spelling and from another source, are left in peace too.
func TestWhoAsksAProviderNotToBeProcessedIsLeftInPeaceEverywhere(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.remembering()
	stop := f.start()
	settled := f.put("ann.lee+old@acme.example")[0]
	equal(t, "before", f.outcome(settled).Status, lead.StatusEnriched)
	stop()
	noError(t, f.sandbox.SetFaults(sandbox.Fault{Provider: "clearbit", Status: 404}, sandbox.Fault{Provider: "hunter", Status: 451}))
	asked := f.put("ann.lee@acme.example")[0]
	noError(t, f.queueLast("ann.lee+later@acme.example"))
	f.start()
	o := f.outcome(asked)
	equal(t, "status", o.Status, lead.StatusSuppressed)
	equal(t, "profile", len(o.Profile), 0)
	old, err := f.ledger.Outcome(t.Context(), settled.LeadID)
	noError(t, err)
	equal(t, "the settled one", old.Status, lead.StatusSuppressed)
	equal(t, "the settled one's profile", len(old.Profile), 0)
	testkit.Eventually(t, soon, "all are suppressed", func() bool { return f.audit(0).Settled.Suppressed == 3 })
	testkit.Eventually(t, soon, "Redis holds nothing of the person", func() bool { return !strings.Contains(f.inRedis(), "ann.lee") })
	f.names("after the refusal")
	if n := f.sandbox.CallsFor("clearbit", "ann.lee+later@acme.example"); n != 0 {
		t.Errorf("clearbit was asked %d times about the lead that came last", n)
	}
	for _, a := range f.put("ANN.LEE@acme.example", "ann.lee+again@acme.example") {
		if !a.Suppressed {
			t.Error("the person was taken in again")
		}
	}
}

// queueLast accepts a lead whose task comes after those that are there: it is not
// put on the queue but left to the reconciler.
func (f *fleet) queueLast(email string) error {
	f.t.Helper()
	_, err := f.ledger.Accept(f.t.Context(), leads(f.t, email))
	return err
}

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

func TestForgetStopsWithTheContextAndSaysSo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.remembering()
	f.put("ann.lee@acme.example")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Forget(ctx, "ann.lee@acme.example"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(f.inRedis(), "ann.lee") {
		t.Error("a cancelled Forget erased all the same")
	}
}

// A worker dies, or Redis is away, between the outcome of a suppressed lead and the
// removal of what Redis has of the person: the task comes back and does it.
func TestTracesThatWereLeftAreRemovedLater(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.remembering()
	forget := f.deps.ForgetAnswers
	var failed atomic.Int32
	f.deps.ForgetAnswers = func(ctx context.Context, subject string) (int, error) {
		if failed.Add(1) <= 2 {
			return 0, errors.New("Redis is away")
		}
		return forget(ctx, subject)
	}
	f.deps.Chain.Retry = quick
	noError(t, f.sandbox.SetFaults(down("")))
	stop := f.start()
	other := f.put("ann.lee+2@acme.example")[0] // its archived task has a payload that names her
	f.outcome(other)
	f.becomes(other, TaskStates{Enrich: "archived"})
	stop()
	noError(t, f.sandbox.SetFaults(sandbox.Fault{Provider: "clearbit", Status: 404}, sandbox.Fault{Provider: "hunter", Status: 451}))
	f.start()
	a := f.put("ann.lee@acme.example")[0]
	equal(t, "status", f.outcome(a).Status, lead.StatusSuppressed)
	f.becomes(a, TaskStates{})
	f.becomes(other, TaskStates{})
	f.names("in the end", other.LeadID)
	if failed.Load() < 3 {
		t.Errorf("it was tried %d times", failed.Load())
	}
}

// The fallback finds out that the person is suppressed, when the enrichment of the
// same run stands in the archive already.
func TestTheArchivedTaskOfASuppressedLeadIsRemoved(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(down("")))
	f.remembering()
	f.deps.Chain.Retry = quick
	hold := make(chan struct{})
	f.deps.Fallback.Providers = []providers.Provider{providers.NewDirectory(func(ctx context.Context, email string) (lead.Profile, time.Time, bool, error) {
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return lead.Profile{lead.PersonName: "Ann Lee"}, time.Time{}, true, nil
	})}
	f.deps.Fallback.Timeouts = map[string]time.Duration{"directory": 4 * time.Second}
	f.start()
	a := f.put("ann.lee@acme.example")[0]
	f.becomes(a, TaskStates{Enrich: "archived", Fallback: "active"})
	noError(t, f.suppressByAnother("ann.lee+elsewhere@acme.example"))
	close(hold)
	equal(t, "status", f.outcome(a).Status, lead.StatusSuppressed)
	f.becomes(a, TaskStates{})
	f.names("in the end")
}

// suppressByAnother settles another lead of the person as suppressed.
func (f *fleet) suppressByAnother(email string) error {
	f.t.Helper()
	accepted, err := f.ledger.Accept(f.t.Context(), leads(f.t, email))
	if err != nil {
		return err
	}
	_, err = f.ledger.Settle(f.t.Context(), ledger.Settlement{
		LeadID: accepted[0].LeadID, Generation: 1, Status: lead.StatusSuppressed, Missing: []lead.Field{},
	})
	return err
}
