package tasks

import (
	"testing"
	"time"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers/sandbox"
)

func TestAuditCountsEveryLeadOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	accepted := f.put(emails(reconcilePage + 8)...)
	for i, s := range []lead.Status{lead.StatusEnriched, lead.StatusPartial, lead.StatusPartial, lead.StatusSuppressed, lead.StatusRejected} {
		_, err := f.ledger.Settle(t.Context(), ledger.Settlement{LeadID: accepted[i].LeadID, Generation: 1, Status: s})
		noError(t, err)
	}
	// Two leads lose their task and one ends in the archive; a settled one needs none.
	for _, a := range accepted[4:7] {
		noError(t, f.inspector.DeleteTask(QueueEnrich, EnrichID(a.LeadID, 1)))
	}
	noError(t, f.inspector.ArchiveTask(QueueEnrich, EnrichID(accepted[7].LeadID, 1)))

	want := Books{
		Accepted: reconcilePage + 8, Open: reconcilePage + 3, Unaccounted: 3,
		Settled: SettledBook{Enriched: 1, Partial: 2, Suppressed: 1, Rejected: 1},
	}
	offenders := map[string]bool{}
	got, err := Audit(t.Context(), f.ledger, f.queue, time.Now().Add(time.Hour), func(r ledger.Record) { offenders[r.LeadID] = true })
	noError(t, err)
	equal(t, "books", got, want)
	equal(t, "offenders", offenders, map[string]bool{accepted[5].LeadID: true, accepted[6].LeadID: true, accepted[7].LeadID: true})

	want.Unaccounted = 0 // they may still be on their way
	equal(t, "books within the grace", f.audit(0), want)
}

func TestAuditWithoutOpenLeadsNeedsNoRedis(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	got, err := Audit(t.Context(), f.ledger, nil, time.Now(), nil)
	noError(t, err)
	equal(t, "books", got, Books{})
}

func TestAuditOfALeadThatIsReplayedIsNotOpen(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	_, err := f.ledger.Settle(t.Context(), ledger.Settlement{LeadID: a.LeadID, Generation: 1, Status: lead.StatusPartial})
	noError(t, err)
	_, err = f.ledger.Reopen(t.Context(), []ledger.Ref{{LeadID: a.LeadID, Generation: 1}})
	noError(t, err)
	// It keeps its outcome, and yet its second run must not be lost.
	equal(t, "books", f.audit(time.Hour), Books{Accepted: 1, Settled: SettledBook{Partial: 1}, Unaccounted: 1})
}
