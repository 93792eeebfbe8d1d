package tasks_test

import (
	"strings"
	"testing"
	"time"

	"backstop/accept"
	"backstop/lead"
	"backstop/ledger"
	"backstop/ops"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/resilience"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

// down is an outage of a provider; "" is all of them.
func TestLeadThatIsKnownIsEnriched(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	testkit.Equal(t, "tasks before", f.States(a), queue.States{Enrich: "pending"})
	f.Start()
	o := f.Outcome(a)
	testkit.Equal(t, "status", o.Status, lead.StatusEnriched)
	testkit.Equal(t, "trail", replicas.Classes(o.Trail), []string{"clearbit ok"})
	testkit.Equal(t, "missing", len(o.Missing), 0)
	testkit.Equal(t, "name", o.Profile[lead.PersonName], "Ann Lee")
	testkit.Equal(t, "origin", o.Provenance[lead.PersonTitle].Provider, "clearbit")
	testkit.Equal(t, "source's own", o.Provenance[lead.PersonEmail].Provider, lead.OriginSource)
	f.Becomes(a, queue.States{})
	testkit.Equal(t, "audit", f.Audit(0), ops.AuditCounts{Accepted: 1, Settled: ops.SettledCounts{Enriched: 1}})
	s := f.Seen.Last(t)
	if s.Path() != ledger.PathDirect || s.Retries > 0 || !s.First || s.SinceStart < 0 || s.SinceAccept < s.SinceStart {
		t.Errorf("the observer was told %+v", s)
	}
}

func TestLeadThatFailsOnceIsRetriedAfterASecond(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(sandbox.Fault{Provider: "clearbit", Status: 503, Calls: 1}))
	f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	f.Becomes(a, queue.States{Enrich: "retry", Fallback: "scheduled"})
	info, err := f.Inspector.GetTaskInfo(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1))
	testkit.NoError(t, err)
	testkit.Equal(t, "what asynqmon shows", info.LastErr, "clearbit: transient 503; retry 1, of clearbit")
	testkit.Equal(t, "tries that failed", info.Retried, 1)
	o := f.Outcome(a)
	testkit.Equal(t, "status", o.Status, lead.StatusEnriched)
	testkit.Equal(t, "trail", replicas.Classes(o.Trail), []string{"clearbit transient", "clearbit ok"})
	testkit.Equal(t, "attempts", []int{o.Trail[0].Attempt, o.Trail[1].Attempt}, []int{1, 2})
	ended := o.Trail[0].At.Add(time.Duration(o.Trail[0].Millis) * time.Millisecond)
	if gap := o.Trail[1].At.Sub(ended); gap < time.Second || gap > 2500*time.Millisecond {
		t.Errorf("the retry came after %s", gap)
	}
	f.Becomes(a, queue.States{}) // the armed fallback is gone too
	if s := f.Seen.Last(t); s.Path() != ledger.PathRetried || s.Retries == 0 {
		t.Errorf("the observer was told %+v", s)
	}
	if retries, snoozes, _ := f.Seen.Counts(); retries != 1 || snoozes != 0 {
		t.Errorf("the observer was told of %d retries and %d snoozes", retries, snoozes)
	}
}

// exhaust sends one lead that the directory knows and one that it does not
// through a chain that is down.
func exhaust(t *testing.T, f *fleet) {
	f.Deps.Chain.Retry = replicas.Quick
	profile := lead.Profile{lead.PersonName: "Ann Lee", lead.PersonTitle: "Head of Sales", lead.CompanyName: "Acme"}
	if _, err := f.Ledger.PutEntries(t.Context(), []ledger.DirectoryEntry{{Email: "ann.lee@acme.example", Profile: profile}}); err != nil {
		t.Fatal(err)
	}
	f.Start()
	accepted := f.Put("ann.lee@acme.example", "bo.ray@umbra.example")
	known, unknown := f.Outcome(accepted[0]), f.Outcome(accepted[1])

	testkit.Equal(t, "known: status", known.Status, lead.StatusEnriched) // by the directory, which is a provider
	testkit.Equal(t, "known: trail", replicas.Classes(known.Trail), []string{
		"clearbit transient", "clearbit transient", "hunter transient", "fallback fallback", "directory ok",
	})
	testkit.Equal(t, "known: origins", []string{known.Provenance[lead.PersonTitle].Provider, known.Provenance[lead.CompanyDomain].Provider},
		[]string{"directory", lead.OriginInferred})

	testkit.Equal(t, "unknown: status", unknown.Status, lead.StatusPartial)
	testkit.Equal(t, "unknown: missing", unknown.Missing, []lead.Field{lead.PersonName, lead.PersonTitle, lead.CompanyName})
	testkit.Equal(t, "unknown: domain", unknown.Profile[lead.CompanyDomain], "umbra.example")
	const why = "exhausted after 1 retries: clearbit: transient 503 x2; hunter: transient 503"
	testkit.Equal(t, "unknown: reason", unknown.Reason, why)

	for _, a := range accepted {
		f.Becomes(a, queue.States{Enrich: "archived"})
		info, err := f.Inspector.GetTaskInfo(queue.QueueEnrich, queue.EnrichID(a.LeadID, a.Generation))
		testkit.NoError(t, err)
		if !strings.HasPrefix(info.LastErr, why) {
			t.Errorf("the archived task's error is %q", info.LastErr)
		}
		if strings.ContainsAny(info.LastErr, "@\n") {
			t.Errorf("the archived task's error names somebody or has several lines: %q", info.LastErr)
		}
	}
	testkit.Equal(t, "audit", f.Audit(time.Hour), ops.AuditCounts{Accepted: 2, Settled: ops.SettledCounts{Enriched: 1, Partial: 1}})
	if s := f.Seen.Last(t); s.Path() != ledger.PathFallback || s.Retries == 0 {
		t.Errorf("the observer was told %+v", s)
	}
}

func TestExhaustedLeadIsArchivedWithItsTrailAndGetsWhatThereIs(t *testing.T) {
	t.Parallel()
	exhaust(t, newFleet(t, replicas.Faults(replicas.Down(""))))
}

func TestExhaustedLeadOnPostgres(t *testing.T) {
	t.Parallel()
	exhaust(t, &fleet{replicas.NewOn(t, replicas.Faults(replicas.Down("")), testkit.Postgres(t))})
}

func TestLeadThatNobodyKnowsCompletesAndIsPartial(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{Known: map[string]float64{"clearbit": 0, "hunter": 0}})
	f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	o := f.Outcome(a)
	testkit.Equal(t, "status", o.Status, lead.StatusPartial)
	if !strings.HasPrefix(o.Reason, "no provider knows more: clearbit: no_data 404") {
		t.Errorf("reason %q", o.Reason)
	}
	f.Becomes(a, queue.States{}) // not archived: nothing failed
	if retries, _, _ := f.Seen.Counts(); retries != 0 {
		t.Errorf("%d retries", retries)
	}
	testkit.Equal(t, "calls", f.Sandbox.CallsFor("clearbit", "ann.lee@acme.example"), 1)
}

func TestLeadThatOnlyItsSourceFillsIsNotEnriched(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(replicas.Down("")))
	f.Deps.Chain.Retry = replicas.Quick
	f.Start()
	l, err := lead.Normalize(lead.Lead{Email: "ann.lee@acme.example", Name: "Ann Lee", Title: "Buyer", Company: "Acme"})
	testkit.NoError(t, err)
	e := accept.New(f.Ledger, f.Queue, f.Deps.Log)
	accepted, err := e.Put(t.Context(), []lead.Lead{l})
	testkit.NoError(t, err)
	o := f.Outcome(accepted[0]) // the domain of its address fills the last gap
	testkit.Equal(t, "missing", len(o.Missing), 0)
	testkit.Equal(t, "status", o.Status, lead.StatusPartial)
}

func TestPersonWhoAskedNotToBeProcessedIsSuppressed(t *testing.T) {
	t.Parallel()
	someData := `{"person":{"name":{"fullName":"Ann Lee"}},"company":null}`
	f := newFleet(t, replicas.Faults(
		sandbox.Fault{Provider: "clearbit", Status: 200, Body: &someData},
		sandbox.Fault{Provider: "hunter", Status: 503, Calls: 1}, // so that the data is stored before
		sandbox.Fault{Provider: "hunter", Status: 451},
	))
	f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	o := f.Outcome(a)
	testkit.Equal(t, "status", o.Status, lead.StatusSuppressed)
	testkit.Equal(t, "trail", replicas.Classes(o.Trail), []string{"clearbit partial", "hunter transient", "hunter forbidden"})
	testkit.Equal(t, "profile", len(o.Profile), 0)
	testkit.Equal(t, "provenance", len(o.Provenance), 0)
	f.Becomes(a, queue.States{})
	testkit.Equal(t, "audit", f.Audit(0).Settled, ops.SettledCounts{Suppressed: 1})
}

func TestFallbackArmedByTheFirstFailureSurvivesALostTask(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(replicas.Down("clearbit")))
	f.Deps.Chain.Retry = resilience.Retry{Max: 3, Base: 2 * time.Second, Factor: 2, Budget: 3 * time.Second}
	f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	f.Becomes(a, queue.States{Enrich: "retry", Fallback: "scheduled"})
	testkit.NoError(t, f.Inspector.DeleteTask(queue.QueueEnrich, queue.EnrichID(a.LeadID, a.Generation)))
	o := f.Outcome(a)
	testkit.Equal(t, "status", o.Status, lead.StatusPartial)
	testkit.Equal(t, "reason", o.Reason, "out of time: clearbit: transient 503")
	testkit.Equal(t, "trail", replicas.Classes(o.Trail), []string{"clearbit transient", "fallback fallback", "directory no_data"})
	deadline := o.Trail[0].At.Add(3 * time.Second)
	if late := o.SettledAt.Sub(deadline); late < 0 || late > 2500*time.Millisecond {
		t.Errorf("settled %s after the end of the budget", late)
	}
}

func TestSettledLeadIsNotCalledAgain(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	before := f.Outcome(a)
	f.Becomes(a, queue.States{})
	for range 2 {
		if existed, err := f.Queue.Enrich(t.Context(), replicas.PayloadOf(a)); err != nil || existed {
			t.Fatalf("Enrich: existed %t, %v", existed, err)
		}
		testkit.NoError(t, f.Queue.RunFallback(t.Context(), replicas.PayloadOf(a)))
		f.Becomes(a, queue.States{})
	}
	testkit.Equal(t, "calls", f.Sandbox.CallsFor("clearbit", "ann.lee@acme.example"), 1)
	testkit.Equal(t, "outcome", f.Outcome(a), before)
}

func TestWaitForASlotUsesUpNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	gate := resilience.NewLocalGate([]resilience.GateConfig{{
		Provider: "clearbit", Limits: []resilience.Limit{{Rate: 1, Per: 3 * time.Second}}, MaxWait: time.Millisecond,
	}}, resilience.LocalOptions{})
	f.Deps.Chain.Gate = gate
	gate.Spend("clearbit", time.Now())
	f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	f.Becomes(a, queue.States{Enrich: "retry"})
	info, err := f.Inspector.GetTaskInfo(queue.QueueEnrich, queue.EnrichID(a.LeadID, a.Generation))
	testkit.NoError(t, err)
	if info.Retried != 0 || !strings.Contains(info.LastErr, "clearbit: rate") {
		t.Errorf("asynq counts %d tries and shows %q", info.Retried, info.LastErr)
	}
	o := f.Outcome(a)
	testkit.Equal(t, "trail", replicas.Classes(o.Trail), []string{"clearbit ok"})
	if retries, snoozes, _ := f.Seen.Counts(); retries != 0 || snoozes == 0 {
		t.Errorf("the observer was told of %d retries and %d snoozes", retries, snoozes)
	}
	if s := f.Seen.Last(t); s.Path() != ledger.PathDirect {
		t.Errorf("the observer was told %+v", s)
	}
}

func TestPanicOfAClientCostsARetryAndTellsNobodysData(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.Deps.Chain.Retry = replicas.Quick
	f.Deps.Chain.Providers[0] = &panics{f.Deps.Chain.Providers[0]}
	f.Start()
	o := f.Outcome(f.Put("ann.lee@acme.example")[0])
	testkit.Equal(t, "trail", replicas.Classes(o.Trail)[:2], []string{"clearbit transient", "clearbit transient"})
	if _, _, n := f.Seen.Counts(); n != 2 {
		t.Errorf("the observer was told of %d panics", n)
	}
}
