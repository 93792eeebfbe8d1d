package reconcile_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"backstop/lead"
	"backstop/ledger"
	"backstop/ops"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/reconcile"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

// damage makes what the ledger in a file has of a lead unreadable.
func damage(t *testing.T, file, column, leadID string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	testkit.NoError(t, err)
	defer func() { testkit.NoError(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), "PRAGMA busy_timeout = 10000; UPDATE leads SET "+column+" = '{\"ann.lee@' WHERE lead_id = '"+leadID+"'")
	testkit.NoError(t, err)
}

// A lead that cannot be read is brought to an outcome and keeps nothing else from its
// work: neither the other leads of its page, nor the rest of the step.
func TestALeadThatCannotBeReadKeepsNobodyFromTheirWork(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	f := &fleet{replicas.NewOn(t, sandbox.Script{}, "sqlite://"+file)}
	accepted := f.withoutTasks(3)
	damaged := accepted[1]
	damage(t, file, "lead", damaged.LeadID)
	damage(t, file, "credits", damaged.LeadID)
	queued := f.Put("with.task@umbra.example")[0]
	damage(t, file, "lead", queued.LeadID)
	old, err := f.Ledger.Accept(t.Context(), replicas.Leads(t, "old.one@umbra.example"))
	testkit.NoError(t, err)
	_, err = f.Ledger.Settle(t.Context(), ledger.Settlement{LeadID: old[0].LeadID, Generation: 1, Status: lead.StatusPartial})
	testkit.NoError(t, err)
	f.Reconciler.Retention = reconcile.Retention{Outcomes: 30 * time.Second} // the step is made a minute from now
	f.Known()
	testkit.Equal(t, "unaccounted", f.Audit(time.Hour), ops.AuditCounts{Accepted: 5, Open: 4, Settled: ops.SettledCounts{Partial: 1}, Unaccounted: 3})

	for range 3 {
		f.Reconcile()
	}
	testkit.Equal(t, "the damaged one", f.States(damaged), queue.States{Fallback: "pending"})
	testkit.Equal(t, "its neighbours", []queue.States{f.States(accepted[0]), f.States(accepted[2])}, []queue.States{{Enrich: "pending"}, {Enrich: "pending"}})
	if _, err := f.Ledger.Get(t.Context(), old[0].LeadID); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("what is too old is left: %v", err)
	}
	testkit.Equal(t, "times that the log names it", strings.Count(f.Log.String(), `"event":"damaged"`), 1)

	f.Reconciler.Retention = reconcile.Retention{}
	f.Start()
	for _, a := range []ledger.Accepted{damaged, queued} {
		testkit.Eventually(t, replicas.Soon, "the lead is settled", func() bool {
			records, err := f.Ledger.Records(t.Context(), []string{a.LeadID})
			testkit.NoError(t, err)
			return records[0].Status != ""
		})
		o, err := f.Ledger.Outcome(t.Context(), a.LeadID)
		if !errors.As(err, new(*ledger.DamagedError)) || o.Status != lead.StatusPartial || o.Reason != "the stored lead cannot be read" {
			t.Errorf("%+v, %v", o, err)
		}
		f.Becomes(a, queue.States{})
	}
	testkit.Equal(t, "calls about nobody", f.Sandbox.CallsFor("clearbit", ""), 0)
	for _, a := range []ledger.Accepted{accepted[0], accepted[2]} {
		testkit.Equal(t, "status", f.Outcome(a).Status, lead.StatusEnriched)
	}
	testkit.Equal(t, "audit", f.Audit(time.Hour), ops.AuditCounts{Accepted: 4, Settled: ops.SettledCounts{Enriched: 2, Partial: 2}})
}
