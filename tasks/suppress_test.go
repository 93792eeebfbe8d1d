package tasks_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"backstop/chain"
	"backstop/lead"
	"backstop/ledger"
	"backstop/providers"
	"backstop/providers/sandbox"
	"backstop/providers/vendors"
	"backstop/queue"
	"backstop/tasks"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

// 451 from a provider about one lead: the person's other leads, settled and open,
// in another spelling and from another source, are left in peace too.
func TestWhoAsksAProviderNotToBeProcessedIsLeftInPeaceEverywhere(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.WithCache()
	stop := f.Start()
	settled := f.Put("ann.lee+old@acme.example")[0]
	testkit.Equal(t, "before", f.Outcome(settled).Status, lead.StatusEnriched)
	stop()
	testkit.NoError(t, f.Sandbox.SetFaults(sandbox.Fault{Provider: "clearbit", Status: 404}, sandbox.Fault{Provider: "hunter", Status: 451}))
	asked := f.Put("ann.lee@acme.example")[0]
	testkit.NoError(t, f.queueLast("ann.lee+later@acme.example"))
	f.Start()
	o := f.Outcome(asked)
	testkit.Equal(t, "status", o.Status, lead.StatusSuppressed)
	testkit.Equal(t, "profile", len(o.Profile), 0)
	old, err := f.Ledger.Outcome(t.Context(), settled.LeadID)
	testkit.NoError(t, err)
	testkit.Equal(t, "the settled one", old.Status, lead.StatusSuppressed)
	testkit.Equal(t, "the settled one's profile", len(old.Profile), 0)
	testkit.Eventually(t, replicas.Soon, "all are suppressed", func() bool { return f.Audit(0).Settled.Suppressed == 3 })
	testkit.Eventually(t, replicas.Soon, "Redis holds nothing of the person", func() bool { return !strings.Contains(f.InRedis(), "ann.lee") })
	f.MustNotName("after the refusal")
	if n := f.Sandbox.CallsFor("clearbit", "ann.lee+later@acme.example"); n != 0 {
		t.Errorf("clearbit was asked %d times about the lead that came last", n)
	}
	for _, a := range f.Put("ANN.LEE@acme.example", "ann.lee+again@acme.example") {
		if !a.Suppressed {
			t.Error("the person was taken in again")
		}
	}
}

// queueLast accepts a lead whose task comes after those that are there: it is not
// put on the queue but left to the reconciler.
func (f *fleet) queueLast(email string) error {
	f.T.Helper()
	_, err := f.Ledger.Accept(f.T.Context(), replicas.Leads(f.T, email))
	return err
}

// A worker dies, or Redis is away, between the outcome of a suppressed lead and the
// removal of what Redis has of the person: the task comes back and does it.
func TestTracesThatWereLeftAreRemovedLater(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.WithCache()
	forget := f.Deps.Forget
	var failed atomic.Int32
	f.Deps.Forget = func(ctx context.Context, subjects ...string) (int, error) {
		if failed.Add(1) <= 2 {
			return 0, errors.New("Redis is away")
		}
		return forget(ctx, subjects...)
	}
	f.Deps.Chain.Retry = replicas.Quick
	testkit.NoError(t, f.Sandbox.SetFaults(replicas.Down("")))
	stop := f.Start()
	other := f.Put("ann.lee+2@acme.example")[0] // its archived task has a payload that names her
	f.Outcome(other)
	f.Becomes(other, queue.States{Enrich: "archived"})
	stop()
	testkit.NoError(t, f.Sandbox.SetFaults(sandbox.Fault{Provider: "clearbit", Status: 404}, sandbox.Fault{Provider: "hunter", Status: 451}))
	f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	testkit.Equal(t, "status", f.Outcome(a).Status, lead.StatusSuppressed)
	f.Becomes(a, queue.States{})
	f.Becomes(other, queue.States{})
	f.MustNotName("in the end", other.LeadID)
	if failed.Load() < 3 {
		t.Errorf("it was tried %d times", failed.Load())
	}
}

// The fallback finds out that the person is suppressed, when the enrichment of the
// same run stands in the archive already.
func TestTheArchivedTaskOfASuppressedLeadIsRemoved(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(replicas.Down("")))
	f.WithCache()
	f.Deps.Chain.Retry = replicas.Quick
	hold := make(chan struct{})
	f.Deps.Fallback.Providers = []providers.Provider{vendors.NewDirectory(func(ctx context.Context, email string) (lead.Profile, time.Time, bool, error) {
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return lead.Profile{lead.PersonName: "Ann Lee"}, time.Time{}, true, nil
	})}
	f.Deps.Fallback.Timeouts = map[string]time.Duration{"directory": 4 * time.Second}
	f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	f.Becomes(a, queue.States{Enrich: "archived", Fallback: "active"})
	testkit.NoError(t, f.suppressByAnother("ann.lee+elsewhere@acme.example"))
	close(hold)
	testkit.Equal(t, "status", f.Outcome(a).Status, lead.StatusSuppressed)
	f.Becomes(a, queue.States{})
	f.MustNotName("in the end")
}

// suppressByAnother settles another lead of the person as suppressed.
func (f *fleet) suppressByAnother(email string) error {
	f.T.Helper()
	accepted, err := f.Ledger.Accept(f.T.Context(), replicas.Leads(f.T, email))
	if err != nil {
		return err
	}
	_, err = f.Ledger.Settle(f.T.Context(), ledger.Settlement{
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
	f := newFleet(t, replicas.Faults(
		sandbox.Fault{Provider: "hunter", Endpoint: "people/find", Status: 451},
		sandbox.Fault{Provider: "hunter", Endpoint: "combined/find", Status: 451},
	))
	f.WithCache()
	f.ByName()
	a := f.Enriched(replicas.Cy)
	testkit.Equal(t, "status", f.Outcome(a).Status, lead.StatusSuppressed)
	suppressed, err := f.Ledger.IsSuppressed(t.Context(), replicas.CyAddress)
	testkit.NoError(t, err)
	testkit.Equal(t, "the address is remembered", suppressed, true)
	testkit.Equal(t, "the next lead with it", f.Put(replicas.CyAddress)[0].Suppressed, true)
	testkit.Equal(t, "the same lead again", f.PutLead(replicas.Cy).Suppressed, true)
}

func TestTheAnswersAboutAPersonsOtherLeadsGoToo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.WithCache()
	f.ByName()
	a := f.Enriched(replicas.Cy)
	testkit.Equal(t, "the one by name", f.Outcome(a).Status, lead.StatusEnriched)
	f.Deps.Chain.Providers = []providers.Provider{refuser{}}
	f.Start()
	b := f.Put(replicas.CyAddress)[0]
	testkit.Equal(t, "the one by address", f.Outcome(b).Status, lead.StatusSuppressed)
	testkit.Equal(t, "the one by name", f.Outcome(a).Status, lead.StatusSuppressed)
	f.Becomes(b, queue.States{})
	testkit.Equal(t, "answers about the person", f.Cached("name:cy fox@acme", replicas.CyAddress), 0)
}

// startedJob is a run of a lead that has read the ledger and no more.
func (f *fleet) startedJob(a ledger.Accepted) (*tasks.Job, ledger.Record) {
	f.T.Helper()
	rec, err := f.Ledger.Get(f.T.Context(), a.LeadID)
	testkit.NoError(f.T, err)
	return tasks.NewJob(f.Deps, replicas.PayloadOf(a), rec, chain.NewProgress(rec.Lead, rec.Generation, time.Now())), rec
}

func TestARefusalInARunThatWasOvertakenLeavesNoTraces(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(replicas.Down("")))
	f.WithCache()
	f.Deps.Chain.Retry = replicas.Quick
	stop := f.Start()
	other := f.Put("ann.lee+b@acme.example")[0]
	f.Outcome(other)
	f.Becomes(other, queue.States{Enrich: "archived"})
	stop()
	a := f.Put("ann.lee@acme.example")[0]
	j, rec := f.startedJob(a)
	ctx := t.Context()
	version, err := f.Ledger.SaveAttempt(ctx, ledger.Attempt{LeadID: a.LeadID, Generation: 1, Version: rec.Version})
	testkit.NoError(t, err)
	_, err = f.Ledger.Settle(ctx, ledger.Settlement{LeadID: a.LeadID, Generation: 1, Version: version, Status: lead.StatusEnriched})
	testkit.NoError(t, err)
	if err := j.Suppress(ctx, nil); !errors.Is(err, ledger.ErrStale) {
		t.Errorf("got %v", err)
	}
	testkit.Equal(t, "the other lead", f.Outcome(other).Status, lead.StatusSuppressed)
	testkit.Equal(t, "its dead letter", f.States(other), queue.States{})
	f.MustNotName("in the end")
}

func TestAnOpenLeadOfASuppressedPersonKeepsATaskThatNamesNobody(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.WithCache()
	accepted := f.Put("ann.lee@acme.example", "ann.lee+b@acme.example")
	j, _ := f.startedJob(accepted[0])
	testkit.NoError(t, j.Settle(t.Context(), ledger.Settlement{Status: lead.StatusSuppressed}))
	testkit.Equal(t, "unaccounted", f.Audit(time.Minute).Unaccounted, int64(0))
	testkit.Equal(t, "its task", f.States(accepted[1]), queue.States{Enrich: "pending"})
	f.MustNotName("at once")
}
