package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
	"backstop/testkit"
)

// A lossyPostgres is a ledger on PostgreSQL that can lose the answer to a commit.
type lossyPostgres struct {
	*ledger.Ledger
	t     *testing.T
	proxy *testkit.Proxy
	admin *sql.Conn // past the proxy
}

// Every commit that changes a lead takes this lock for a moment, so that who holds
// it holds back the commits.
const holdCommits = `
CREATE FUNCTION hold_commit() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER hold_commit AFTER INSERT OR UPDATE ON leads DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION hold_commit()`

func newLossyPostgres(t *testing.T) *lossyPostgres {
	t.Helper()
	direct := testkit.Postgres(t)
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	p := &lossyPostgres{t: t, proxy: testkit.NewProxy(t, u.Host)}
	u.Host = p.proxy.Addr()
	p.Ledger = open(t, u.String(), ledger.Options{})
	db, err := sql.Open("pgx", direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if p.admin, err = db.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.exec(holdCommits)
	return p
}

func (p *lossyPostgres) exec(query string) {
	p.t.Helper()
	if _, err := p.admin.ExecContext(p.t.Context(), query); err != nil {
		p.t.Fatal(err)
	}
}

// losing makes a write whose commit succeeds and whose answer is lost, and returns
// the write's error.
func (p *lossyPostgres) losing(write func(context.Context) error) error {
	p.t.Helper()
	p.exec("SELECT pg_advisory_lock(42)")
	result := make(chan error, 1)
	go func() { result <- write(p.t.Context()) }()
	testkit.Eventually(p.t, 10*time.Second, "the commit is under way", func() (waits bool) {
		const query = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND NOT granted)"
		if err := p.admin.QueryRowContext(p.t.Context(), query).Scan(&waits); err != nil {
			p.t.Fatal(err)
		}
		return waits
	})
	lost := p.proxy.Dropped()
	p.proxy.DropReplies()
	p.exec("SELECT pg_advisory_unlock(42)")
	testkit.Eventually(p.t, 10*time.Second, "the answer is lost", func() bool { return p.proxy.Dropped() > lost })
	p.proxy.Restore()
	return <-result
}

func TestLeadsWhoseAcceptanceWasCommittedWithoutAnAnswerAreNew(t *testing.T) {
	p := newLossyPostgres(t)
	before, err := p.Accept(t.Context(), []lead.Lead{numbered(1)})
	if err != nil {
		t.Fatal(err)
	}
	var got []ledger.Accepted
	err = p.losing(func(ctx context.Context) (err error) {
		got, err = p.Accept(ctx, []lead.Lead{numbered(3), numbered(1), numbered(2), numbered(3)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var duplicates []bool
	for _, a := range got {
		duplicates = append(duplicates, a.Duplicate)
		r, err := p.Get(t.Context(), a.LeadID)
		if err != nil || r.RequestID != a.RequestID || !a.Live || a.Generation != 1 || a.Lead != r.Lead {
			t.Errorf("got %+v, stored as %+v, %v", a, r, err)
		}
	}
	if want := []bool{false, true, false, true}; !cmp.Equal(duplicates, want) {
		t.Errorf("duplicates: got %v, want %v", duplicates, want)
	}
	if got[1].RequestID != before[0].RequestID || got[3].RequestID != got[0].RequestID {
		t.Errorf("got %+v", got)
	}
	again, err := p.Accept(t.Context(), []lead.Lead{numbered(2)})
	if err != nil || !again[0].Duplicate {
		t.Errorf("a call of its own later: %+v, %v", again, err)
	}
}

func TestAcceptWaitsForADatabaseThatIsAway(t *testing.T) {
	p := newLossyPostgres(t)
	p.proxy.Cut()
	result := make(chan error, 1)
	go func() {
		accepted, err := p.Accept(t.Context(), []lead.Lead{numbered(1)})
		if err == nil && accepted[0].Duplicate {
			err = errors.New("it is called a duplicate")
		}
		result <- err
	}()
	testkit.Eventually(t, 10*time.Second, "the database is seen to be away", func() bool {
		return ledger.IsAway(p.Ping(t.Context()))
	})
	p.proxy.Restore()
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestAcceptStopsWaitingWhenItsCallerDoes(t *testing.T) {
	p := newLossyPostgres(t)
	p.proxy.Cut()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := p.Accept(ctx, []lead.Lead{numbered(1)})
	if !errors.Is(err, context.DeadlineExceeded) || ledger.IsAway(err) {
		t.Errorf("got %v, want the context's error", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestARecordWhoseAnswerWasLostCanBeRepeated(t *testing.T) {
	p := newLossyPostgres(t)
	ctx := t.Context()
	accepted, err := p.Accept(ctx, []lead.Lead{numbered(1)})
	if err != nil {
		t.Fatal(err)
	}
	id := accepted[0].LeadID
	a := ledger.Attempt{LeadID: id, Generation: 1, Version: 1, Retries: 1, Progress: []byte("p"), Trail: []lead.TrailEntry{{Attempt: 1, Provider: "p"}}}
	err = p.losing(func(ctx context.Context) error {
		_, err := p.SaveAttempt(ctx, a)
		return err
	})
	if !ledger.IsAway(err) {
		t.Fatalf("got %v, want that the database is away", err)
	}
	version, err := p.SaveAttempt(ctx, a)
	if err != nil || version != 2 {
		t.Errorf("the repetition: version %d, %v", version, err)
	}
	direct := settled(id) // the fallback's: not fenced
	direct.Trail = []lead.TrailEntry{{Attempt: 1, Provider: "fallback"}}
	fenced := ledger.Settlement{LeadID: id, Generation: 1, Version: 2, Status: lead.StatusEnriched, Trail: []lead.TrailEntry{{Attempt: 2, Provider: "p"}}}
	for _, s := range []ledger.Settlement{direct, fenced} {
		var got ledger.Settled
		settle := func(ctx context.Context) (err error) {
			got, err = p.Settle(ctx, s)
			return err
		}
		if err := p.losing(settle); !ledger.IsAway(err) {
			t.Fatalf("got %v, want that the database is away", err)
		}
		if err := settle(ctx); err != nil || !got.Applied || got.Status != s.Status {
			t.Errorf("the repetition: %+v, %v", got, err)
		}
	}
	o, err := p.Outcome(ctx, id)
	var providers []string
	for _, e := range o.Trail {
		providers = append(providers, e.Provider)
	}
	if want := []string{"p", "fallback", "p"}; err != nil || !cmp.Equal(providers, want) {
		t.Errorf("trail %v, %v, want %v", providers, err, want)
	}
}
