package tasks

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers"
	"backstop/providers/sandbox"
	"backstop/resilience"
	"backstop/testkit"
)

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

// A refuser says of everybody with an address that they asked not to be processed.
type refuser struct{}

func (refuser) Name() string { return "refuser" }

func (refuser) Plan(l lead.Lead, _ []lead.Field) ([]providers.Call, string) {
	if l.Email == "" {
		return nil, "has no email address"
	}
	return []providers.Call{{Endpoint: "find", Subject: lead.EmailKey(l.Email), Do: func(context.Context) providers.Answer {
		return providers.Answer{Class: lead.ClassForbidden, Status: 451}
	}}}, ""
}

func TestARefusalAboutAFoundAddressIsRememberedByIt(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(
		sandbox.Fault{Provider: "hunter", Endpoint: "people/find", Status: 451},
		sandbox.Fault{Provider: "hunter", Endpoint: "combined/find", Status: 451},
	))
	f.remembering()
	f.byName()
	a := f.enriched(cy)
	equal(t, "status", f.outcome(a).Status, lead.StatusSuppressed)
	suppressed, err := f.ledger.IsSuppressed(t.Context(), cyAddress)
	noError(t, err)
	equal(t, "the address is remembered", suppressed, true)
	equal(t, "the next lead with it", f.put(cyAddress)[0].Suppressed, true)
	equal(t, "the same lead again", f.putLead(cy).Suppressed, true)
}

func TestTheAnswersAboutAPersonsOtherLeadsGoToo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.remembering()
	f.byName()
	a := f.enriched(cy)
	equal(t, "the one by name", f.outcome(a).Status, lead.StatusEnriched)
	f.deps.Chain.Providers = []providers.Provider{refuser{}}
	f.start()
	b := f.put(cyAddress)[0]
	equal(t, "the one by address", f.outcome(b).Status, lead.StatusSuppressed)
	equal(t, "the one by name", f.outcome(a).Status, lead.StatusSuppressed)
	f.becomes(b, TaskStates{})
	equal(t, "answers about the person", f.kept("name:cy fox@acme", cyAddress), 0)
}

// startedJob is a run of a lead that has read the ledger and no more.
func (f *fleet) startedJob(h *handlers, a ledger.Accepted) *job {
	f.t.Helper()
	rec, err := f.ledger.Get(f.t.Context(), a.LeadID)
	noError(f.t, err)
	return &job{payload: payloadFor(rec), record: rec, progress: h.progressOf(rec, f.deps.Log), log: f.deps.Log}
}

func TestARefusalInARunThatWasOvertakenLeavesNoTraces(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(down("")))
	f.remembering()
	f.deps.Chain.Retry = quick
	stop := f.start()
	other := f.put("ann.lee+b@acme.example")[0]
	f.outcome(other)
	f.becomes(other, TaskStates{Enrich: "archived"})
	stop()
	a := f.put("ann.lee@acme.example")[0]
	h := newHandlers(f.deps)
	j := f.startedJob(h, a)
	ctx := t.Context()
	version, err := f.ledger.Record(ctx, ledger.Attempt{LeadID: a.LeadID, Generation: 1, Version: j.record.Version})
	noError(t, err)
	_, err = f.ledger.Settle(ctx, ledger.Settlement{LeadID: a.LeadID, Generation: 1, Version: version, Status: lead.StatusEnriched})
	noError(t, err)
	if err := h.suppress(ctx, j, resilience.Verdict{Kind: resilience.KindSuppress}); !errors.Is(err, ledger.ErrStale) {
		t.Errorf("got %v", err)
	}
	equal(t, "the other lead", f.outcome(other).Status, lead.StatusSuppressed)
	equal(t, "its dead letter", f.states(other), TaskStates{})
	f.names("in the end")
}

func TestAnOpenLeadOfASuppressedPersonKeepsATaskThatNamesNobody(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.remembering()
	accepted := f.put("ann.lee@acme.example", "ann.lee+b@acme.example")
	h := newHandlers(f.deps)
	noError(t, h.settle(t.Context(), f.startedJob(h, accepted[0]), ledger.Settlement{Status: lead.StatusSuppressed}))
	equal(t, "unaccounted", f.audit(time.Minute).Unaccounted, int64(0))
	equal(t, "its task", f.states(accepted[1]), TaskStates{Enrich: "pending"})
	f.names("at once")
}
