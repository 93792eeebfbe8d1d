package tasks

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/resilience"
	"backstop/testkit"
)

// down is an outage of a provider; "" is all of them.
func down(provider string) sandbox.Fault { return sandbox.Fault{Provider: provider, Status: 503} }

func faults(fs ...sandbox.Fault) sandbox.Script { return sandbox.Script{Faults: fs} }

// classes are the trail as "provider class", in order.
func classes(trail []lead.TrailEntry) []string {
	out := []string{}
	for _, e := range trail {
		out = append(out, e.Provider+" "+string(e.Class))
	}
	return out
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestLeadThatIsKnownIsEnriched(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	equal(t, "tasks before", f.states(a), TaskStates{Enrich: "pending"})
	f.start()
	o := f.outcome(a)
	equal(t, "status", o.Status, lead.StatusEnriched)
	equal(t, "trail", classes(o.Trail), []string{"clearbit ok"})
	equal(t, "missing", len(o.Missing), 0)
	equal(t, "name", o.Profile[lead.PersonName], "Ann Lee")
	equal(t, "origin", o.Provenance[lead.PersonTitle].Provider, "clearbit")
	equal(t, "source's own", o.Provenance[lead.PersonEmail].Provider, lead.OriginSource)
	f.becomes(a, TaskStates{})
	equal(t, "audit", f.audit(0), Books{Accepted: 1, Settled: SettledBook{Enriched: 1}})
	s := f.seen.last(t)
	if s.Path != PathDirect || s.Retried || !s.First || s.SinceStart < 0 || s.SinceAccept < s.SinceStart {
		t.Errorf("the observer was told %+v", s)
	}
}

func TestLeadThatFailsOnceIsRetriedAfterASecond(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(sandbox.Fault{Provider: "clearbit", Status: 503, Calls: 1}))
	f.start()
	a := f.put("ann.lee@acme.example")[0]
	f.becomes(a, TaskStates{Enrich: "retry", Fallback: "scheduled"})
	info, err := f.inspector.GetTaskInfo(QueueEnrich, EnrichID(a.LeadID, 1))
	noError(t, err)
	equal(t, "what asynqmon shows", info.LastErr, "clearbit: transient 503; retry 1, of clearbit")
	equal(t, "tries that failed", info.Retried, 1)
	o := f.outcome(a)
	equal(t, "status", o.Status, lead.StatusEnriched)
	equal(t, "trail", classes(o.Trail), []string{"clearbit transient", "clearbit ok"})
	equal(t, "attempts", []int{o.Trail[0].Attempt, o.Trail[1].Attempt}, []int{1, 2})
	ended := o.Trail[0].At.Add(time.Duration(o.Trail[0].Millis) * time.Millisecond)
	if gap := o.Trail[1].At.Sub(ended); gap < time.Second || gap > 2500*time.Millisecond {
		t.Errorf("the retry came after %s", gap)
	}
	f.becomes(a, TaskStates{}) // the armed fallback is gone too
	if s := f.seen.last(t); s.Path != PathRetried || !s.Retried {
		t.Errorf("the observer was told %+v", s)
	}
	if retries, snoozes, _ := f.seen.counts(); retries != 1 || snoozes != 0 {
		t.Errorf("the observer was told of %d retries and %d snoozes", retries, snoozes)
	}
}

// exhaust sends one lead that the directory knows and one that it does not
// through a chain that is down.
func exhaust(t *testing.T, f *fleet) {
	f.deps.Chain.Retry = quick
	profile := lead.Profile{lead.PersonName: "Ann Lee", lead.PersonTitle: "Head of Sales", lead.CompanyName: "Acme"}
	if _, _, err := f.ledger.PutPeople(t.Context(), []ledger.Person{{Email: "ann.lee@acme.example", Profile: profile}}); err != nil {
		t.Fatal(err)
	}
	f.start()
	accepted := f.put("ann.lee@acme.example", "bo.ray@umbra.example")
	known, unknown := f.outcome(accepted[0]), f.outcome(accepted[1])

	equal(t, "known: status", known.Status, lead.StatusEnriched) // by the directory, which is a provider
	equal(t, "known: trail", classes(known.Trail), []string{
		"clearbit transient", "clearbit transient", "hunter transient", "fallback fallback", "directory ok",
	})
	equal(t, "known: origins", []string{known.Provenance[lead.PersonTitle].Provider, known.Provenance[lead.CompanyDomain].Provider},
		[]string{"directory", lead.OriginInferred})

	equal(t, "unknown: status", unknown.Status, lead.StatusPartial)
	equal(t, "unknown: missing", unknown.Missing, []lead.Field{lead.PersonName, lead.PersonTitle, lead.CompanyName})
	equal(t, "unknown: domain", unknown.Profile[lead.CompanyDomain], "umbra.example")
	const why = "exhausted after 1 retries: clearbit: transient 503 x2; hunter: transient 503"
	equal(t, "unknown: reason", unknown.Reason, why)

	for _, a := range accepted {
		f.becomes(a, TaskStates{Enrich: "archived"})
		info, err := f.inspector.GetTaskInfo(QueueEnrich, EnrichID(a.LeadID, a.Generation))
		noError(t, err)
		if !strings.HasPrefix(info.LastErr, why) {
			t.Errorf("the archived task's error is %q", info.LastErr)
		}
		if strings.ContainsAny(info.LastErr, "@\n") {
			t.Errorf("the archived task's error names somebody or has several lines: %q", info.LastErr)
		}
	}
	equal(t, "audit", f.audit(time.Hour), Books{Accepted: 2, Settled: SettledBook{Enriched: 1, Partial: 1}})
	if s := f.seen.last(t); s.Path != PathFallback || !s.Retried {
		t.Errorf("the observer was told %+v", s)
	}
}

func TestExhaustedLeadIsArchivedWithItsTrailAndGetsWhatThereIs(t *testing.T) {
	t.Parallel()
	exhaust(t, newFleet(t, faults(down(""))))
}

func TestExhaustedLeadOnPostgres(t *testing.T) {
	t.Parallel()
	exhaust(t, newFleetOn(t, faults(down("")), testkit.Postgres(t)))
}

func TestLeadThatNobodyKnowsCompletesAndIsPartial(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{Known: map[string]float64{"clearbit": 0, "hunter": 0}})
	f.start()
	a := f.put("ann.lee@acme.example")[0]
	o := f.outcome(a)
	equal(t, "status", o.Status, lead.StatusPartial)
	if !strings.HasPrefix(o.Reason, "no provider knows more: clearbit: no_data 404") {
		t.Errorf("reason %q", o.Reason)
	}
	f.becomes(a, TaskStates{}) // not archived: nothing failed
	if retries, _, _ := f.seen.counts(); retries != 0 {
		t.Errorf("%d retries", retries)
	}
	equal(t, "calls", f.sandbox.CallsFor("clearbit", "ann.lee@acme.example"), 1)
}

func TestLeadThatOnlyItsSourceFillsIsNotEnriched(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(down("")))
	f.deps.Chain.Retry = quick
	f.start()
	l, err := lead.Normalize(lead.Lead{Email: "ann.lee@acme.example", Name: "Ann Lee", Title: "Buyer", Company: "Acme"})
	noError(t, err)
	e := &Enqueuer{Ledger: f.ledger, Queue: f.queue, Log: f.deps.Log}
	accepted, err := e.Put(t.Context(), []lead.Lead{l})
	noError(t, err)
	o := f.outcome(accepted[0]) // the domain of its address fills the last gap
	equal(t, "missing", len(o.Missing), 0)
	equal(t, "status", o.Status, lead.StatusPartial)
}

func TestPersonWhoAskedNotToBeProcessedIsSuppressed(t *testing.T) {
	t.Parallel()
	someData := `{"person":{"name":{"fullName":"Ann Lee"}},"company":null}`
	f := newFleet(t, faults(
		sandbox.Fault{Provider: "clearbit", Status: 200, Body: &someData},
		sandbox.Fault{Provider: "hunter", Status: 503, Calls: 1}, // so that the data is stored before
		sandbox.Fault{Provider: "hunter", Status: 451},
	))
	f.start()
	a := f.put("ann.lee@acme.example")[0]
	o := f.outcome(a)
	equal(t, "status", o.Status, lead.StatusSuppressed)
	equal(t, "trail", classes(o.Trail), []string{"clearbit partial", "hunter transient", "hunter forbidden"})
	equal(t, "profile", len(o.Profile), 0)
	equal(t, "provenance", len(o.Provenance), 0)
	f.becomes(a, TaskStates{})
	equal(t, "audit", f.audit(0).Settled, SettledBook{Suppressed: 1})
}

func TestFallbackArmedByTheFirstFailureSurvivesALostTask(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(down("clearbit")))
	f.deps.Chain.Retry = resilience.Retry{Max: 3, Base: 2 * time.Second, Factor: 2, Budget: 3 * time.Second}
	f.start()
	a := f.put("ann.lee@acme.example")[0]
	f.becomes(a, TaskStates{Enrich: "retry", Fallback: "scheduled"})
	noError(t, f.inspector.DeleteTask(QueueEnrich, EnrichID(a.LeadID, a.Generation)))
	o := f.outcome(a)
	equal(t, "status", o.Status, lead.StatusPartial)
	equal(t, "reason", o.Reason, "out of time: clearbit: transient 503")
	equal(t, "trail", classes(o.Trail), []string{"clearbit transient", "fallback fallback", "directory no_data"})
	deadline := o.Trail[0].At.Add(3 * time.Second)
	if late := o.SettledAt.Sub(deadline); late < 0 || late > 2500*time.Millisecond {
		t.Errorf("settled %s after the end of the budget", late)
	}
}

func TestSettledLeadIsNotCalledAgain(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.start()
	a := f.put("ann.lee@acme.example")[0]
	before := f.outcome(a)
	f.becomes(a, TaskStates{})
	for range 2 {
		if existed, err := f.queue.Enrich(t.Context(), payloadOf(a)); err != nil || existed {
			t.Fatalf("Enrich: existed %t, %v", existed, err)
		}
		noError(t, f.queue.RunFallback(t.Context(), payloadOf(a)))
		f.becomes(a, TaskStates{})
	}
	equal(t, "calls", f.sandbox.CallsFor("clearbit", "ann.lee@acme.example"), 1)
	equal(t, "outcome", f.outcome(a), before)
}

func TestWaitForASlotUsesUpNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	gate := resilience.NewLocalGate([]resilience.GateConfig{{
		Provider: "clearbit", Limits: []resilience.Limit{{Rate: 1, Per: 3 * time.Second}}, Patience: time.Millisecond,
	}}, resilience.LocalOptions{})
	f.deps.Chain.Gate = gate
	gate.Spend("clearbit", time.Now())
	f.start()
	a := f.put("ann.lee@acme.example")[0]
	f.becomes(a, TaskStates{Enrich: "retry"})
	info, err := f.inspector.GetTaskInfo(QueueEnrich, EnrichID(a.LeadID, a.Generation))
	noError(t, err)
	if info.Retried != 0 || !strings.Contains(info.LastErr, "clearbit: rate") {
		t.Errorf("asynq counts %d tries and shows %q", info.Retried, info.LastErr)
	}
	o := f.outcome(a)
	equal(t, "trail", classes(o.Trail), []string{"clearbit ok"})
	if retries, snoozes, _ := f.seen.counts(); retries != 0 || snoozes == 0 {
		t.Errorf("the observer was told of %d retries and %d snoozes", retries, snoozes)
	}
	if s := f.seen.last(t); s.Path != PathDirect {
		t.Errorf("the observer was told %+v", s)
	}
}

func TestPanicOfAClientCostsARetryAndTellsNobodysData(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.deps.Chain.Retry = quick
	f.deps.Chain.Providers[0] = &panics{f.deps.Chain.Providers[0]}
	f.start()
	o := f.outcome(f.put("ann.lee@acme.example")[0])
	equal(t, "trail", classes(o.Trail)[:2], []string{"clearbit transient", "clearbit transient"})
	if _, _, n := f.seen.counts(); n != 2 {
		t.Errorf("the observer was told of %d panics", n)
	}
	if f.deps.Chain.OnPanic != nil {
		t.Error("a replica changed the chain that it was given")
	}
}
