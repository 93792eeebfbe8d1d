package ops_test

import (
	"testing"
	"time"

	"backstop/lead"
	"backstop/ledger"
	"backstop/ops"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

// pageSize is that of the pages in which open leads are looked at.
const pageSize = 500

func TestAuditCountsEveryLeadOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	accepted := f.Put(replicas.Emails(pageSize + 8)...)
	for i, s := range []lead.Status{lead.StatusEnriched, lead.StatusPartial, lead.StatusPartial, lead.StatusSuppressed, lead.StatusEnriched} {
		_, err := f.Ledger.Settle(t.Context(), ledger.Settlement{LeadID: accepted[i].LeadID, Generation: 1, Status: s})
		testkit.NoError(t, err)
	}
	// Two leads lose their task and one ends in the archive; a settled one needs none.
	for _, a := range accepted[4:7] {
		testkit.NoError(t, f.Inspector.DeleteTask(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1)))
	}
	testkit.NoError(t, f.Inspector.ArchiveTask(queue.QueueEnrich, queue.EnrichID(accepted[7].LeadID, 1)))

	want := ops.AuditCounts{
		Accepted: pageSize + 8, Open: pageSize + 3, Unaccounted: 3,
		Settled: ops.SettledCounts{Enriched: 2, Partial: 2, Suppressed: 1},
	}
	offenders := map[string]bool{}
	got, err := ops.Audit(t.Context(), f.Ledger, f.Queue, time.Now().Add(time.Hour), func(r ledger.Record) { offenders[r.LeadID] = true })
	testkit.NoError(t, err)
	testkit.Equal(t, "books", got, want)
	testkit.Equal(t, "offenders", offenders, map[string]bool{accepted[5].LeadID: true, accepted[6].LeadID: true, accepted[7].LeadID: true})

	want.Unaccounted = 0 // they may still be on their way
	testkit.Equal(t, "books within the grace", f.Audit(0), want)
}

func TestAuditWithoutOpenLeadsNeedsNoRedis(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	got, err := ops.Audit(t.Context(), f.Ledger, nil, time.Now(), nil)
	testkit.NoError(t, err)
	testkit.Equal(t, "books", got, ops.AuditCounts{})
}

func TestAuditOfALeadThatIsReplayedIsNotOpen(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	_, err := f.Ledger.Settle(t.Context(), ledger.Settlement{LeadID: a.LeadID, Generation: 1, Status: lead.StatusPartial})
	testkit.NoError(t, err)
	_, err = f.Ledger.Reopen(t.Context(), []lead.Run{{LeadID: a.LeadID, Generation: 1}})
	testkit.NoError(t, err)
	// It keeps its outcome, and yet its second run must not be lost.
	testkit.Equal(t, "books", f.Audit(time.Hour), ops.AuditCounts{Accepted: 1, Settled: ops.SettledCounts{Partial: 1}, Unaccounted: 1})
}
