package ledger_test

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"backstop/lead"
	"backstop/ledger"
	"backstop/testkit"
)

func TestOpenSaysWhatIsWrongWithTheURLWithoutThePassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("this is no database, and long enough to have a header"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, url, want string }{
		{"empty", "", "no known scheme"},
		{"another database", "mysql://root:hunter2@127.0.0.1/x", "no known scheme"},
		{"a bare path with a password in it", "hunter2/ledger.db", "no known scheme"},
		{"no file", "sqlite://", "names no file"},
		{"a folder that cannot be made", "sqlite://" + file + "/x/ledger.db", "create the ledger's folder"},
		{"a file that is no database", "sqlite://" + file, "not a database"},
		{"a port that is no number", "postgres://u:hunter2@127.0.0.1:port/x", "cannot be read"},
		{"a password that is not encoded", "postgres://u:hunter2/%zz@127.0.0.1/x", "cannot be read"},
		{"nobody there", "postgres://u:hunter2@" + testkit.FreeAddr(t) + "/x", "refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, err := ledger.Open(t.Context(), test.url, ledger.Options{})
			if err == nil {
				t.Fatal(l.Close(), "it was opened")
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %q, want %q and no password", err, test.want)
			}
			if away := test.name == "nobody there"; ledger.IsAway(err) != away {
				t.Errorf("IsAway: %v, want %v", !away, away)
			}
		})
	}
}

func TestASQLiteLedgerIsForItsOwnerOnlyAndMayHaveAnyName(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"ledger.db", ":memory:", "new folder/50% ? #1 ü.db", "file:x"} {
		t.Run(name, func(t *testing.T) {
			l := open(t, "sqlite://"+name, ledger.Options{})
			if _, err := l.Accept(t.Context(), []lead.Lead{numbered(1)}); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{name, name + "-wal", name + ".lock"} {
				info, err := os.Stat(filepath.Join(dir, file))
				if err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v, want mode 0600", file, info, err)
				}
			}
		})
	}
}

func TestASQLiteLedgerWritesThroughToTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, "sqlite://"+path, ledger.Options{})
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000", "secure_delete": "1"} {
		if got := ledger.WriterPragma(t, l, pragma); got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
}

// TestASweepReadsOnlyItsOwnLeads looks at SQLite's plan. PostgreSQL chooses by
// statistics, which a test's few rows do not give.
func TestASweepReadsOnlyItsOwnLeads(t *testing.T) {
	l := open(t, databases["SQLite"](t), ledger.Options{})
	for query, index := range map[string]string{ledger.LiveQuery: "leads_live", ledger.UnqueuedQuery: "leads_unqueued"} {
		if plan := ledger.SweepPlan(t, l, query); !strings.Contains(plan, "USING INDEX "+index+" (lead_id>?)") {
			t.Errorf("the plan is:\n%s", plan)
		}
	}
}

func TestALedgerOfANewerProgramIsRefused(t *testing.T) {
	for name, newURL := range databases {
		t.Run(name, func(t *testing.T) {
			url := newURL(t)
			l := open(t, url, ledger.Options{})
			if _, err := l.Accept(t.Context(), []lead.Lead{numbered(1)}); err != nil {
				t.Fatal(err)
			}
			driver, source := "pgx", url
			if path, ok := strings.CutPrefix(url, "sqlite://"); ok {
				driver, source = "sqlite", "file:"+path
			}
			db, err := sql.Open(driver, source)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, true)"); err != nil {
				t.Fatal(err)
			}
			again, err := ledger.Open(t.Context(), url, ledger.Options{})
			if err == nil {
				t.Fatal(again.Close(), "it was opened")
			}
			if !strings.Contains(err.Error(), "newer version of this program (schema 999; this one knows 4)") || ledger.IsAway(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestHandlesThatOpenAnEmptyLedgerAtOnceAllSucceed(t *testing.T) {
	for name, newURL := range databases {
		t.Run(name, func(t *testing.T) {
			url, begin := newURL(t), make(chan struct{})
			errs := make(chan error)
			const handles = 6
			for range handles {
				go func() {
					<-begin
					l, err := ledger.Open(t.Context(), url, ledger.Options{})
					if err == nil {
						err = l.Close()
					}
					errs <- err
				}()
			}
			close(begin)
			for range handles {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestTwoHandlesOnOneFileWriteAtOnce(t *testing.T) {
	path := databases["SQLite"](t)
	handles := []*ledger.Ledger{open(t, path, ledger.Options{}), open(t, path, ledger.Options{})}
	const n = 200
	errs := make(chan error)
	for i, l := range handles {
		go func() {
			var failed error
			for k := range n {
				accepted, err := l.Accept(t.Context(), []lead.Lead{numbered(i*n + k)})
				if err == nil {
					_, err = l.Settle(t.Context(), settled(accepted[0].LeadID))
				}
				failed = errors.Join(failed, err)
			}
			errs <- failed
		}()
	}
	for range handles {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	counts, err := handles[0].Counts(t.Context())
	if err != nil || counts.Accepted != 2*n || counts.Settled[lead.StatusPartial] != 2*n {
		t.Errorf("got %+v, %v", counts, err)
	}
}

func TestALockedSQLiteFileIsAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	open(t, "sqlite://"+path, ledger.Options{})
	var dbs []*sql.DB
	for range 2 {
		db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate") // without patience
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		dbs = append(dbs, db)
	}
	tx, err := dbs[0].Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := dbs[1].Begin(); !ledger.IsAway(err) {
		t.Errorf("%v does not count as away", err)
	}
	if _, err := dbs[1].Exec("SELECT nonsense"); err == nil || ledger.IsAway(err) {
		t.Errorf("%v counts as away", err)
	}
}

func TestAPostgresThatCannotBeReachedIsAwayUntilItIsBack(t *testing.T) {
	ctx := t.Context()
	u, err := url.Parse(testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := testkit.NewProxy(t, u.Host)
	u.Host = proxy.Addr()
	l := open(t, u.String(), ledger.Options{})
	accepted, err := l.Accept(ctx, []lead.Lead{numbered(1)})
	if err != nil {
		t.Fatal(err)
	}
	id := accepted[0].LeadID

	proxy.Cut()
	_, settleErr := l.Settle(ctx, settled(id))
	_, getErr := l.Get(ctx, id)
	_, countErr := l.Counts(ctx)
	for call, err := range map[string]error{"Settle": settleErr, "Get": getErr, "Counts": countErr, "Ping": l.Ping(ctx)} {
		if !ledger.IsAway(err) {
			t.Errorf("%s: %v does not count as away", call, err)
		}
	}
	proxy.Restore()
	if got, err := l.Settle(ctx, settled(id)); err != nil || !got.First {
		t.Errorf("after it is back: %+v, %v", got, err)
	}
	if o, err := l.Outcome(ctx, id); err != nil || len(o.Trail) != 1 {
		t.Errorf("trail %v, %v, want one entry: the failed write wrote nothing", o.Trail, err)
	}
}

func TestAPostgresThatEndsConnectionsIsAwayForAMoment(t *testing.T) {
	url := testkit.Postgres(t)
	l := open(t, url, ledger.Options{})
	accepted, err := l.Accept(t.Context(), []lead.Lead{numbered(1)})
	if err != nil {
		t.Fatal(err)
	}
	admin, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.Exec("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'backstop' AND datname = current_database()"); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, "the ledger connects again", func() bool {
		_, err := l.Settle(t.Context(), settled(accepted[0].LeadID))
		if err != nil && !ledger.IsAway(err) {
			t.Fatalf("%v does not count as away", err)
		}
		return err == nil
	})
}
