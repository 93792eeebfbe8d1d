package tasks

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/resilience"
	"backstop/testkit"
)

func TestTaskThatIsRunByHandTooEarlyWaitsForItsTime(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(sandbox.Fault{Provider: "clearbit", Status: 503, Calls: 1}))
	f.deps.Chain.Retry.Base = 3 * time.Second
	f.start()
	a := f.put("ann.lee@acme.example")[0]
	f.becomes(a, TaskStates{Enrich: "retry", Fallback: "scheduled"})
	noError(t, f.inspector.RunTask(QueueEnrich, EnrichID(a.LeadID, 1)))
	testkit.Eventually(t, soon, "the task is put back", func() bool {
		info, err := f.inspector.GetTaskInfo(QueueEnrich, EnrichID(a.LeadID, 1))
		return err == nil && info.LastErr == "not due yet" && info.State.String() == "retry"
	})
	o := f.outcome(a)
	if gap := o.Trail[1].At.Sub(o.Trail[0].At.Time); gap < 3*time.Second {
		t.Errorf("the retry came after %s", gap)
	}
}

func TestTaskOfAnEarlierRunDoesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	_, err := f.ledger.Settle(t.Context(), ledger.Settlement{LeadID: a.LeadID, Generation: 1, Status: lead.StatusPartial})
	noError(t, err)
	reopened, err := f.ledger.Reopen(t.Context(), []ledger.Ref{{LeadID: a.LeadID, Generation: 1}})
	noError(t, err)
	equal(t, "reopened", reopened, []ledger.Ref{{LeadID: a.LeadID, Generation: 2}})
	noError(t, f.queue.RunFallback(t.Context(), payloadOf(a)))
	f.start()
	f.becomes(a, TaskStates{})
	equal(t, "calls", f.sandbox.Books().Providers["clearbit"].Calls, 0)
	rec, err := f.ledger.Get(t.Context(), a.LeadID)
	noError(t, err)
	equal(t, "live", rec.Live(), true)

	a.Generation = 2 // and the second run brings it further
	_, err = f.queue.Enrich(t.Context(), payloadOf(a))
	noError(t, err)
	f.becomes(a, TaskStates{})
	equal(t, "status", f.outcome(a).Status, lead.StatusEnriched)
}

func TestWhatAProviderAnsweredIsStoredAfterAShutdownBegan(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	h := newHandlers(f.deps)
	rec, err := f.ledger.Get(t.Context(), a.LeadID)
	noError(t, err)
	j := &job{payload: payloadOf(a), record: rec, progress: resilience.NewProgress(a.Lead, 1, time.Now()), log: f.deps.Log}
	j.progress.Retries = 2
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	noError(t, h.record(ctx, j, []lead.TrailEntry{{Attempt: 1, Provider: "clearbit", Class: lead.ClassTransient}}))
	rec, err = f.ledger.Get(t.Context(), a.LeadID)
	noError(t, err)
	stored, err := resilience.LoadProgress(rec.Progress, rec.Lead, 1, time.Now())
	noError(t, err)
	equal(t, "retries", stored.Retries, 2)
}

func TestInterruptedRunIsPutBackAndIsNoFailure(t *testing.T) {
	h := &handlers{Deps: Deps{Now: time.Now}}
	for _, err := range []error{context.Canceled, context.DeadlineExceeded, fmt.Errorf("wrapped: %w", context.Canceled)} {
		var later *Later
		if got := h.interrupted(err); !errors.As(got, &later) || isFailure(got) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
	other := errors.New("another")
	if got := h.interrupted(other); got != other {
		t.Errorf("%v becomes %v", other, got)
	}
}

func TestLedgerThatIsAwayForAMomentCostsNoSecondCall(t *testing.T) {
	t.Parallel()
	at, err := url.Parse(testkit.Postgres(t))
	noError(t, err)
	proxy := testkit.NewProxy(t, at.Host)
	at.Host = proxy.Addr()
	f := newFleetOn(t, sandbox.Script{Latency: sandbox.Latency{Min: 300 * time.Millisecond, Max: 300 * time.Millisecond}}, at.String())
	f.start()
	a := f.put("ann.lee@acme.example")[0]
	testkit.Eventually(t, soon, "the call is under way", func() bool { return f.sandbox.Books().Providers["clearbit"].Open == 1 })
	proxy.Cut()
	testkit.Eventually(t, soon, "the call has its answer", func() bool { return f.sandbox.Books().Providers["clearbit"].Open == 0 })
	failed := 0
	testkit.Eventually(t, soon, "the ledger is seen to be away for a while", func() bool {
		if f.ledger.Ping(t.Context()) != nil {
			failed++
		}
		return failed == 40
	})
	proxy.Restore()
	equal(t, "status", f.outcome(a).Status, lead.StatusEnriched)
	equal(t, "calls", f.sandbox.CallsFor("clearbit", "ann.lee@acme.example"), 1)
}

func TestLedgerThatCannotBeReadPutsTheLeadBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	noError(t, f.ledger.Close())
	f.start()
	f.becomes(a, TaskStates{Enrich: "retry"})
	info, err := f.inspector.GetTaskInfo(QueueEnrich, EnrichID(a.LeadID, 1))
	noError(t, err)
	equal(t, "what asynqmon shows", info.LastErr, "the ledger cannot be read")
	equal(t, "tries that failed", info.Retried, 0)
	equal(t, "calls", f.sandbox.Books().Providers["clearbit"].Calls, 0)
}
