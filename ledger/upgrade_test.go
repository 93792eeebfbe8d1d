package ledger_test

import (
	"database/sql"
	"strings"
	"sync"
	"testing"

	"backstop/lead"
	"backstop/ledger"
)

// TestALedgerOfBeforeIsFilledWhenItIsOpened takes from a ledger what the schema of
// before did not have.
func TestALedgerOfBeforeIsFilledWhenItIsOpened(t *testing.T) {
	for name, newURL := range databases {
		t.Run(name, func(t *testing.T) {
			url := newURL(t)
			l := open(t, url, ledger.Options{})
			const many = 1100 // more than a page
			leads := []lead.Lead{jane(1), {Name: "Jane Roe-Doe", Company: "Acme"}, {Source: "crm", SourceID: "s", Email: "bo@acme.test", Name: "Bo Roe-Doe"}}
			for i := range many {
				leads = append(leads, numbered(i))
			}
			accepted, err := l.Accept(t.Context(), leads)
			if err != nil {
				t.Fatal(err)
			}
			found := map[int]lead.Lead{1: jane(2), 2: leads[2], last(accepted): {Email: "bo+2@acme.test", Name: "Bo Roe-Doe"}}
			var wg sync.WaitGroup
			for i := 1; i < len(accepted); i++ {
				wg.Go(func() {
					s := settled(accepted[i].LeadID)
					s.Facts = lead.Facts{Profile: found[i].Profile()}
					if _, err := l.Settle(t.Context(), s); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if _, err := l.PutEntries(t.Context(), []ledger.DirectoryEntry{{Email: "jane.doe+x@acme.example"}}); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			asBefore(t, url)

			l = open(t, url, ledger.Options{})
			e, err := l.Forget(t.Context(), "jane.doe@acme.example")
			if err != nil || e.Leads != 2 || e.Outcomes != 1 || e.People != 1 {
				t.Errorf("got %+v, %v", e, err)
			}
			for _, i := range []int{2, last(accepted)} {
				rec, err := l.Get(t.Context(), accepted[i].LeadID)
				if err != nil || !rec.Suppressed || rec.Status != lead.StatusSuppressed || rec.Lead != (lead.Lead{Source: "crm", SourceID: leads[i].SourceID}) {
					t.Errorf("lead %d of who was suppressed before: %+v, %v", i, rec, err)
				}
			}
			if text := ledger.AllText(t, l); strings.Contains(text, "Roe-Doe") || strings.Contains(text, "bo@acme.test") {
				t.Error("the ledger still holds people who asked not to be processed")
			}
			if again, err := l.Accept(t.Context(), []lead.Lead{{Email: "bo+1@acme.test"}, numbered(0)}); err != nil || !again[0].Suppressed || again[1].Suppressed {
				t.Errorf("got %+v, %v", again, err)
			}
		})
	}
}

// last is the index of the last lead in the order of IDs, which is not on the first
// page of those that are filled.
func last(accepted []ledger.Accepted) (n int) {
	for i, a := range accepted {
		if a.LeadID > accepted[n].LeadID {
			n = i
		}
	}
	return n
}

// asBefore migrates a ledger down by one and settles Bo's lead as suppressed, as
// that was done then.
func asBefore(t *testing.T, url string) {
	t.Helper()
	ledger.MigrateDown(t, url, 2)
	change(t, url, "UPDATE outcomes SET status = 'suppressed' WHERE profile LIKE '%bo@acme.test%'")
}

// change runs a statement past the ledger.
func change(t *testing.T, url, statement string) {
	t.Helper()
	driver, source := "pgx", url
	if path, ok := strings.CutPrefix(url, "sqlite://"); ok {
		driver, source = "sqlite", "file:"+path
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}
