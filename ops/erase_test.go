package ops_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"backstop/chain"
	"backstop/lead"
	"backstop/ledger"
	"backstop/ops"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

// Leads of one person in every state that a task can have.
func TestAForgottenPersonIsErasedFromEveryQueue(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(replicas.Down("")))
	e := f.WithCache()
	f.Deps.Chain.Retry = replicas.Quick
	stop := f.Start()
	archived := f.Put("ann.lee+1@acme.example")[0]
	f.Outcome(archived)
	f.Becomes(archived, queue.States{Enrich: "archived"})
	f.Deps.Chain.Retry.Budget = time.Hour // the next ones wait for their retry until the end of the test
	f.Deps.Chain.Retry.Base = 30 * time.Minute
	stop()
	stop = f.Start()
	waiting := f.Put("ann.lee@acme.example")[0]
	f.Becomes(waiting, queue.States{Enrich: "retry", Fallback: "scheduled"})
	stop()
	pending := f.Put("Ann.Lee+news@ACME.example", "bo.ray@umbra.example")
	done := f.Put("ann.lee+done@acme.example")[0]
	f.completed(done)

	sum, err := e.Forget(t.Context(), "ANN.LEE@acme.example")
	testkit.NoError(t, err)
	if sum.Leads != 4 || sum.Outcomes != 1 || sum.Tasks != 5 || !sum.Remembered || sum.UnderWay != 0 || sum.TrailEntries == 0 {
		t.Errorf("it says %+v", sum)
	}
	f.MustNotName("after forget", archived.LeadID, waiting.LeadID, pending[0].LeadID, done.LeadID)
	testkit.Equal(t, "the other lead", f.States(pending[1]), queue.States{Enrich: "pending"})
	for _, a := range []ledger.Accepted{archived, waiting, pending[0], done} {
		if _, err := f.Ledger.Get(t.Context(), a.LeadID); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("the ledger still has a lead: %v", err)
		}
	}
	again, err := e.Forget(t.Context(), "ann.lee@acme.example")
	testkit.NoError(t, err)
	testkit.Equal(t, "a second time", again, ops.Erased{Remembered: true})
	testkit.Equal(t, "the books", f.Audit(0).Accepted, int64(1))
}

// completed makes the lead's enrichment a task that asynq keeps after it was done.
func (f *fleet) completed(a ledger.Accepted) {
	f.T.Helper()
	id := queue.EnrichID(a.LeadID, a.Generation)
	ctx := f.T.Context()
	_, err := f.RDB.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.LRem(ctx, "asynq:{enrich}:pending", 0, id)
		p.HSet(ctx, "asynq:{enrich}:t:"+id, "state", "completed")
		p.ZAdd(ctx, "asynq:{enrich}:completed", redis.Z{Score: float64(time.Now().Add(time.Hour).Unix()), Member: id})
		return nil
	})
	testkit.NoError(f.T, err)
	info, err := f.Inspector.GetTaskInfo(queue.QueueEnrich, id)
	testkit.NoError(f.T, err)
	testkit.Equal(f.T, "the state", info.State, asynq.TaskStateCompleted)
}

func TestAForgottenPersonIsTurnedAwayInEverySpelling(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.WithCache()
	_, err := e.Forget(t.Context(), "ann.lee@bücher.example")
	testkit.NoError(t, err)
	spelled := []string{
		"ann.lee@bücher.example", "ANN.LEE@BÜCHER.EXAMPLE", "ann.lee@xn--bcher-kva.example", "ann.lee+anything@bücher.example", "mailto:Ann.Lee@bücher.example",
	}
	for i, a := range f.Put(append(spelled, "ann.leen@bücher.example")...) {
		if a.Suppressed != (i < len(spelled)) {
			t.Errorf("spelling %d: turned away %v", i, a.Suppressed)
		}
	}
	testkit.Equal(t, "the books", f.Audit(0), ops.AuditCounts{Accepted: 1, Open: 1})
}

// A worker is in the middle of a call when the person is erased.
func TestALeadThatIsWorkedOnIsErasedToo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, replicas.Faults(sandbox.Fault{Kind: sandbox.KindHang}))
	e := f.WithCache()
	f.Start()
	a := f.Put("ann.lee@acme.example")[0]
	testkit.Eventually(t, replicas.Soon, "the call is under way", func() bool { return f.Sandbox.CallsFor("clearbit", "ann.lee@acme.example") > 0 })
	sum, err := e.Forget(t.Context(), "ann.lee@acme.example")
	testkit.NoError(t, err)
	if sum.Leads != 1 || sum.UnderWay != 0 {
		t.Errorf("it says %+v", sum)
	}
	f.Becomes(a, queue.States{})
	f.MustNotName("after forget", a.LeadID)
}

func TestForgetStopsWithTheContextAndSaysSo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.WithCache()
	f.Put("ann.lee@acme.example")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Forget(ctx, "ann.lee@acme.example"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(f.InRedis(), "ann.lee") {
		t.Error("a cancelled Forget erased all the same")
	}
}

func TestWhoIsForgottenByAFoundAddressDoesNotComeBackByName(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.WithCache()
	f.ByName()
	f.Enriched(replicas.Cy)
	sum, err := e.Forget(t.Context(), replicas.CyAddress)
	testkit.NoError(t, err)
	testkit.Equal(t, "erased", sum.Leads, 1)
	testkit.Equal(t, "answers under the name", f.Cached("name:cy fox@acme", "name:cy fox@acme.example", replicas.CyAddress), 0)
	testkit.Equal(t, "the next import", f.PutLead(replicas.Cy).Suppressed, true)
}

// The address was found and said not to exist: it stands only in the trail.
func TestWhoIsOnlyNamedInATrailIsForgottenToo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.WithCache()
	f.ByName()
	a := f.Enriched(lead.Lead{Name: "Amy Ward", Company: "Acme"})
	o := f.Outcome(a)
	if o.Profile[lead.PersonEmail] != "" {
		t.Fatalf("the address was taken: %v", o.Profile)
	}
	sum, err := e.Forget(t.Context(), "amy.ward@acme.example")
	testkit.NoError(t, err)
	testkit.Equal(t, "erased", sum.Leads, 1)
	if _, err := f.Ledger.Get(t.Context(), a.LeadID); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("the ledger still has the lead: %v", err)
	}
}

type brokenCache struct{}

func (brokenCache) Forget(context.Context, ...string) (int, error) {
	return 0, errors.New("Redis is away")
}

func TestForgetThatFailedGoesOnWhenItIsRunAgain(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.WithCache()
	f.ByName()
	f.Enriched(replicas.Cy)
	works := e.Cache
	e.Cache = brokenCache{}
	if _, err := e.Forget(t.Context(), replicas.CyAddress); err == nil {
		t.Error("it does not say that it failed")
	}
	e.Cache = works
	_, err := e.Forget(t.Context(), replicas.CyAddress)
	testkit.NoError(t, err)
	testkit.Equal(t, "answers that are left", f.Cached("name:cy fox@acme", "name:cy fox@acme.example", replicas.CyAddress), 0)
}

func TestASecretThatWasReplacedKeepsForgetFromNothingElse(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.WithCache()
	f.ByName()
	f.Enriched(replicas.Cy)
	mark := redis.Z{Score: float64(time.Now().Add(-10 * time.Minute).UnixMilli()), Member: "an old secret's mark"}
	testkit.NoError(t, f.RDB.ZAdd(t.Context(), "backstop:answers:marks", mark).Err())
	sum, err := e.Forget(t.Context(), replicas.CyAddress)
	if !errors.Is(err, chain.ErrOtherSecret) || sum.Leads != 1 || !sum.Remembered {
		t.Errorf("it says %+v, %v", sum, err)
	}
	testkit.Equal(t, "answers under the present secret", f.Cached("name:cy fox@acme", "name:cy fox@acme.example", replicas.CyAddress), 0)
}
