package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"backstop/lead"
	"backstop/testkit"
)

// group makes writes that mark the circuit events with their number; the ones in
// bad break their transaction after that.
func group(n int, bad ...int) []*write {
	var writes []*write
	for i := range n {
		writes = append(writes, &write{done: make(chan error, 1), run: func(ctx context.Context, s session) error {
			if err := s.exec(ctx, insertCircuitEvent, i, "p", "closed", "open", "", ""); err != nil {
				return err
			}
			if slices.Contains(bad, i) {
				return s.exec(ctx, "INSERT INTO leads (lead_id) VALUES (NULL)")
			}
			return nil
		}})
	}
	return writes
}

func TestAGroupLosesOnlyTheWritesThatCannotSucceed(t *testing.T) {
	for name, url := range map[string]string{"SQLite": "sqlite://" + filepath.Join(t.TempDir(), "ledger.db"), "PostgreSQL": testkit.Postgres(t)} {
		for _, test := range []struct {
			name string
			n    int
			bad  []int
		}{
			{"none fails", 5, nil},
			{"one alone fails", 1, []int{0}},
			{"the first fails", 9, []int{0}},
			{"the last fails", 9, []int{8}},
			{"several fail", 16, []int{0, 7, 8, 15}},
			{"all fail", 3, []int{0, 1, 2}},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				l, err := Open(t.Context(), url, Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := l.Close(); err != nil {
						t.Error(err)
					}
				}()
				w := &writer{db: l.writer.db, dialect: l.dialect, timeout: writeTimeout, now: time.Now}
				if err := w.commit([]*write{{run: func(ctx context.Context, s session) error {
					return s.exec(ctx, "DELETE FROM circuit_events")
				}}}); err != nil {
					t.Fatal(err)
				}
				writes := group(test.n, test.bad...)
				w.commitAll(writes)
				good := 0
				for i, wr := range writes {
					bad := slices.Contains(test.bad, i)
					if err := <-wr.done; (err != nil) != bad || IsAway(err) {
						t.Errorf("write %d: %v", i, err)
					}
					if !bad {
						good++
					}
				}
				trips, err := readCounts(t.Context(), l.reader(), countTrips, 0)
				if err != nil || trips["p"] != int64(good) {
					t.Errorf("%d writes are there (%v), want %d", trips["p"], err, good)
				}
			})
		}
	}
}

func TestOnlyWritesWithCompanyWait(t *testing.T) {
	const wait = 3 * time.Millisecond
	for _, test := range []struct {
		name   string
		last   int           // the size of the group before
		others int           // writes that come a millisecond later
		size   int           // the most that a group may have
		want   int           // in the group
		waited time.Duration // until it is complete
	}{
		{"the first write of all goes at once", 0, 1, 256, 1, 0},
		{"a lone caller goes at once", 1, 1, 256, 1, 0},
		{"callers that come back are waited for", 4, 3, 256, 4, time.Millisecond},
		{"callers that stay away are waited for no longer than allowed", 4, 1, 256, 2, wait},
		{"a full group waits for nobody", 8, 5, 3, 3, time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &writer{queue: make(chan *write), wait: wait, size: test.size, last: test.last}
				ctx, cancel := context.WithCancel(t.Context())
				for range test.others {
					go func() {
						select {
						case <-time.After(time.Millisecond):
						case <-ctx.Done():
							return
						}
						select {
						case w.queue <- &write{}:
						case <-ctx.Done():
						}
					}()
				}
				begin := time.Now()
				got := len(w.collect(&write{}))
				if waited := time.Since(begin); got != test.want || waited != test.waited {
					t.Errorf("%d writes after %v, want %d after %v", got, waited, test.want, test.waited)
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}

func TestAWaitEndsWithTheCallersContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writer{queue: make(chan *write), quit: make(chan struct{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := w.do(ctx, &write{}) // nobody receives
		if !errors.Is(err, context.DeadlineExceeded) || IsAway(err) {
			t.Errorf("got %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { <-w.queue }() // received, but never answered
		if err := w.do(ctx, &write{}); !errors.Is(err, context.DeadlineExceeded) || IsAway(err) {
			t.Errorf("got %v", err)
		}
	})
}

func TestADatabaseThatHangsIsAway(t *testing.T) {
	for name, url := range map[string]string{"SQLite": "sqlite://" + filepath.Join(t.TempDir(), "ledger.db"), "PostgreSQL": testkit.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			var handles []*Ledger
			for range 2 {
				l, err := Open(t.Context(), url, Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := l.Close(); err != nil {
						t.Error(err)
					}
				})
				handles = append(handles, l)
			}
			accepted, err := handles[0].Accept(t.Context(), []lead.Lead{{Name: "Jane"}})
			if err != nil {
				t.Fatal(err)
			}
			tx, err := handles[0].writer.db.Begin() // holds the lead, or with SQLite the file
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("UPDATE leads SET retries = 1"); err != nil {
				t.Fatal(err)
			}
			handles[1].writer.timeout = 50 * time.Millisecond
			s := Settlement{LeadID: accepted[0].LeadID, Generation: 1, Status: lead.StatusPartial}
			if _, err := handles[1].Settle(t.Context(), s); !errors.Is(err, errTimeout) || !IsAway(err) {
				t.Errorf("got %v, want a time-out that counts as away", err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			handles[1].writer.timeout = writeTimeout
			if got, err := handles[1].Settle(t.Context(), s); err != nil || !got.First {
				t.Errorf("after that: %+v, %v", got, err)
			}
		})
	}
}

func FuzzErrorsAboutAPostgresURLHoldNoPassword(f *testing.F) {
	for _, password := range []string{"correct horse", "a/b@c:d?e#f", "100%zz-secret", "[::1]-secret", "\x00\xff\x7f secret", "sslmode=x&secret=1"} {
		f.Add(password)
	}
	f.Fuzz(func(t *testing.T, password string) {
		if len(password) < 8 {
			return // it could be a part of the message by chance
		}
		db, _, err := openPostgres(t.Context(), "postgres://user:"+password+"@127.0.0.1:1/db?connect_timeout=soon")
		if err == nil { // the password hid the bad parameter
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		if strings.Contains(err.Error(), password) {
			t.Errorf("the error holds the password: %v", err)
		}
	})
}

func TestQueriesAreTranslated(t *testing.T) {
	const query = `SELECT a FROM {rows $1: a text, b bytes} AS r WHERE a IN {list $2} {for update}`
	for d, want := range map[*dialect]string{
		onSQLite:   `SELECT a FROM (SELECT value->>'a' AS a, unhex(value->>'b') AS b FROM json_each(?1)) AS r WHERE a IN (SELECT value FROM json_each(?2)) `,
		onPostgres: `SELECT a FROM (SELECT a, decode(b, 'hex') AS b FROM jsonb_to_recordset($1::jsonb) AS x(a text, b text)) AS r WHERE a IN (SELECT jsonb_array_elements_text($2::jsonb)) FOR UPDATE`,
	} {
		for range 2 { // the second time from memory
			if got := d.sql(query); got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", d.name, got, want)
			}
		}
	}
}

func TestDamagedRowsAreReportedWithoutTheirText(t *testing.T) {
	var l lead.Lead
	err := decode("lead", `{"email":"secret@acme.example"`, &l)
	if err == nil || err.Error() != "the lead in the ledger is damaged: not the JSON that was written" {
		t.Errorf("got %v", err)
	}
}
