package replicas

import (
	"backstop/lead"
	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/testkit"
	"testing"
)

// Outage fails each person's first run, with the retry of Quick, and no more.
var Outage = Faults(
	sandbox.Fault{Provider: "clearbit", Status: 503, Calls: 2},
	sandbox.Fault{Provider: "hunter", Status: 503, Calls: 1},
)

// AfterOutage starts a replica and returns leads whose outcome is partial and whose
// task is archived: at most two, so that no circuit opens.
func AfterOutage(t *testing.T, n int) (*Fleet, []ledger.Accepted) {
	t.Helper()
	f := New(t, Outage)
	f.Deps.Chain.Retry = Quick
	f.Start()
	accepted := f.Put(Emails(n)...)
	for _, a := range accepted {
		testkit.Equal(t, "status", f.Outcome(a).Status, lead.StatusPartial)
		f.Becomes(a, queue.States{Enrich: "archived"})
	}
	return f, accepted
}

// Record is the lead as the ledger has it.
func (f *Fleet) Record(a ledger.Accepted) ledger.Record {
	f.T.Helper()
	rec, err := f.Ledger.Get(f.T.Context(), a.LeadID)
	testkit.NoError(f.T, err)
	return rec
}

// Raised waits until the lead's outcome is better than partial.
func (f *Fleet) Raised(a ledger.Accepted) lead.Outcome {
	f.T.Helper()
	testkit.Eventually(f.T, Soon, "the outcome rises", func() bool { return f.Outcome(a).Status == lead.StatusEnriched })
	return f.Outcome(a)
}
