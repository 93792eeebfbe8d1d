package ledger_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"backstop/lead"
	"backstop/ledger"
	"backstop/testkit"
)

// TestQueriesAboutPeopleAndAgeAreIndexed looks at SQLite's plans.
func TestQueriesAboutPeopleAndAgeAreIndexed(t *testing.T) {
	l := open(t, databases["SQLite"](t), ledger.Options{})
	for query, plan := range ledger.IndexedPlans(t, l) {
		for line := range strings.Lines(plan) {
			reads := strings.HasPrefix(line, "SCAN ") && !strings.HasPrefix(line, "SCAN json_each") && !strings.HasPrefix(line, "SCAN r") && line != "SCAN CONSTANT ROW\n"
			// These are indexes of few rows, or are read from their beginning for a page only.
			few := strings.Contains(line, "USING INDEX outcomes_with_trail") || strings.Contains(line, "_unkeyed") ||
				strings.Contains(line, "USING INDEX leads_live") || strings.Contains(line, "INDEX circuit_events_at")
			if reads && !few {
				t.Errorf("%s\nis done so:\n%s", query, plan)
			}
		}
	}
}

func TestHandlesThatOpenAnEmptyLedgerAtOnceHaveOneKey(t *testing.T) {
	for name, newURL := range databases {
		t.Run(name, func(t *testing.T) {
			url, other := newURL(t), open(t, newURL(t), ledger.Options{})
			var (
				wg     sync.WaitGroup
				mu     sync.Mutex
				hashes = map[string]bool{}
			)
			for range 6 {
				wg.Go(func() {
					l, err := ledger.Open(t.Context(), url, ledger.Options{})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					hashes[ledger.Hash(l, "x")] = true
					mu.Unlock()
					if err := l.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if len(hashes) != 1 || hashes[ledger.Hash(other, "x")] {
				t.Errorf("%d keys, want one, and another than another ledger's", len(hashes))
			}
		})
	}
}

// jane is a lead of one person, another one for each number.
func jane(n int) lead.Lead {
	return lead.Lead{Source: "crm", SourceID: fmt.Sprint("jane ", n), Email: fmt.Sprintf("jane.doe+%d@acme.example", n), Name: "Jane Roe-Doe"}
}

// filled is a SQLite ledger with many leads, settled and live, of which each tenth
// is Jane's.
func filled(t *testing.T, path string) (l *ledger.Ledger, janes []string) {
	t.Helper()
	l = open(t, "sqlite://"+path, ledger.Options{})
	var leads []lead.Lead
	var people []ledger.DirectoryEntry
	for i := range 1500 {
		ld := numbered(i)
		ld.Email, ld.Company = fmt.Sprintf("p%d@acme.test", i), strings.Repeat("Acme ", i%40)
		if i%10 == 0 {
			ld = jane(i)
		}
		leads = append(leads, ld)
		people = append(people, ledger.DirectoryEntry{Email: ld.Email, Profile: ld.Profile()})
	}
	if _, err := l.PutEntries(t.Context(), people); err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept(t.Context(), leads)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i, a := range accepted {
		if i%10 == 0 {
			janes = append(janes, a.LeadID)
		}
		wg.Go(func() {
			progress := ledger.Attempt{LeadID: a.LeadID, Generation: 1, Progress: []byte(strings.Repeat(leads[i].Email, 1+i%300))}
			if _, err := l.SaveAttempt(t.Context(), progress); err != nil {
				t.Error(err)
			}
			s := settled(a.LeadID)
			s.Facts = lead.Facts{Profile: leads[i].Profile()}
			s.Trail[0].Conflicts = map[lead.Field]string{lead.PersonEmail: leads[i].Email}
			if i%3 == 0 {
				return
			}
			if _, err := l.Settle(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return l, janes
}

// inFiles reports whether the database's files hold something of Jane.
func inFiles(t *testing.T, path string) bool {
	t.Helper()
	for _, file := range []string{path, path + "-wal"} {
		b, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		text := strings.ToLower(string(b))
		if strings.Contains(text, "jane.doe") || strings.Contains(text, "roe-doe") {
			return true
		}
	}
	return false
}

func TestWhatIsForgottenIsNotInTheFilesOfSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, janes := filled(t, path)
	if !inFiles(t, path) {
		t.Fatal("it was not there before either")
	}
	e, err := l.Forget(t.Context(), "Jane.Doe@acme.example")
	if err != nil || e.Leads != len(janes) || e.People != len(janes) {
		t.Errorf("%d leads, %d entries of the directory, %v", e.Leads, e.People, err)
	}
	if inFiles(t, path) {
		t.Error("the files still hold it")
	}
}

// TestWhatIsSuppressedIsOverwrittenInTheFilesOfSQLite has no more leads than fit on a
// page: SQLite may leave copies where it divides pages.
func TestWhatIsSuppressedIsOverwrittenInTheFilesOfSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, "sqlite://"+path, ledger.Options{})
	accepted, err := l.Accept(t.Context(), []lead.Lead{jane(0), jane(1), numbered(1)})
	if err != nil {
		t.Fatal(err)
	}
	s := settled(accepted[0].LeadID)
	s.Facts = lead.Facts{Profile: jane(0).Profile()}
	s.Trail[0].Conflicts = map[lead.Field]string{lead.PersonName: "Jane Roe-Doe"}
	if _, err := l.Settle(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := l.SaveAttempt(t.Context(), ledger.Attempt{LeadID: accepted[1].LeadID, Generation: 1, Progress: []byte("jane.doe")}); err != nil {
		t.Fatal(err)
	}
	if !inFiles(t, path) {
		t.Fatal("it was not there before either")
	}
	told := ledger.Settlement{LeadID: accepted[1].LeadID, Generation: 1, Status: lead.StatusSuppressed}
	if got, err := l.Settle(t.Context(), told); err != nil || len(got.Others) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if inFiles(t, path) {
		t.Error("the files still hold it")
	}
}

// reading keeps a state of the ledger until done is called, as a backup does.
func reading(t *testing.T, path string) (done func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM leads").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestTheLogIsEmptiedWhenNobodyReadsItAnyMore erases while another one reads, who
// keeps the log from being emptied.
func TestTheLogIsEmptiedWhenNobodyReadsItAnyMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, _ := filled(t, path)
	done := reading(t, path)
	if _, err := l.Forget(t.Context(), "jane.doe@acme.example"); err != nil {
		t.Fatal(err)
	}
	if !inFiles(t, path) {
		t.Error("nobody was in the way")
	}
	done()
	testkit.Eventually(t, 10*time.Second, "the log is emptied after some later write", func() bool {
		if _, err := l.Accept(t.Context(), []lead.Lead{numbered(1)}); err != nil {
			t.Fatal(err)
		}
		return !inFiles(t, path)
	})
}

func TestForgetHoldsAgainstTheWritesOfOtherProcesses(t *testing.T) {
	for name, newURL := range databases {
		t.Run(name, func(t *testing.T) {
			url := newURL(t)
			a, b := open(t, url, ledger.Options{}), open(t, url, ledger.Options{})
			var wg sync.WaitGroup
			for w := range 4 {
				wg.Go(func() {
					for i := range 25 {
						ld := lead.Lead{Source: "crm", SourceID: fmt.Sprint(w, " ", i), Name: fmt.Sprint("J ", w, " ", i)}
						if w%2 == 0 {
							ld = jane(100*w + i)
						}
						accepted, err := a.Accept(t.Context(), []lead.Lead{ld})
						if err != nil {
							t.Error(err)
							return
						}
						s := settled(accepted[0].LeadID)
						s.Facts = lead.Facts{Profile: jane(0).Profile()}
						if _, err := a.Settle(t.Context(), s); err != nil && !errors.Is(err, ledger.ErrNotFound) {
							t.Error(err)
						}
					}
				})
			}
			wg.Go(func() {
				if _, err := b.Forget(t.Context(), "jane.doe@acme.example"); err != nil {
					t.Error(err)
				}
			})
			wg.Wait()
			if text := strings.ToLower(ledger.AllText(t, b)); strings.Contains(text, "jane") {
				t.Error("something of the person came in after all")
			}
		})
	}
}

// leadsOf lists a person's leads and fails the test on an error.
func leadsOf(t *testing.T, l *ledger.Ledger, email string) []ledger.Record {
	t.Helper()
	records, err := l.LeadsOf(t.Context(), email)
	if err != nil || len(records) == 0 {
		t.Fatalf("%d leads, %v", len(records), err)
	}
	return records
}

func TestALeadThatIsDamagedCanBeErased(t *testing.T) {
	for name, newURL := range databases {
		for way, erase := range map[string]func(*testing.T, *ledger.Ledger){
			"forgotten": func(t *testing.T, l *ledger.Ledger) {
				if e, err := l.Forget(t.Context(), "jane.doe@acme.example"); err != nil || e.Leads != 2 || e.Records[0].Lead.Name+e.Records[1].Lead.Name != "Jane Roe-Doe" {
					t.Errorf("got %+v, %v", e, err)
				}
			},
			"suppressed": func(t *testing.T, l *ledger.Ledger) {
				told := ledger.Settlement{LeadID: jane(1).ID(), Generation: 1, Status: lead.StatusSuppressed}
				if got, err := l.Settle(t.Context(), told); err != nil || len(got.Others) != 1 {
					t.Errorf("got %+v, %v", got, err)
				}
			},
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				url := newURL(t)
				l := open(t, url, ledger.Options{})
				if _, err := l.Accept(t.Context(), []lead.Lead{jane(1), jane(2)}); err != nil {
					t.Fatal(err)
				}
				change(t, url, `UPDATE leads SET lead = '{"name":"Jane Roe-Doe' WHERE lead_id = '`+jane(2).ID()+`'`)
				for _, r := range leadsOf(t, l, "jane.doe@acme.example") {
					if (r.Damaged != nil) != (r.LeadID == jane(2).ID()) || r.Damaged != nil && strings.Contains(r.Damaged.Error(), "Jane") {
						t.Errorf("reading %s: %v, want an error about the damaged one that does not quote it", r.LeadID, r.Damaged)
					}
				}
				erase(t, l)
				if strings.Contains(ledger.AllText(t, l), "Jane") {
					t.Error("it is still there")
				}
			})
		}
	}
}
