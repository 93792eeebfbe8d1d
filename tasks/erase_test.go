package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"backstop/answers"
	"backstop/lead"
	"backstop/ledger"
	"backstop/providers"
	"backstop/providers/sandbox"
	"backstop/resilience"
	"backstop/testkit"
)

// remembering gives the fleet kept answers, and returns what erases people from
// all of it.
func (f *fleet) remembering() Eraser {
	f.t.Helper()
	store, err := answers.New(f.rdb, answers.Options{
		Secret:    []byte("a secret that only the tests have"),
		Providers: map[string]answers.Ages{"clearbit": {Positive: time.Hour, Negative: time.Hour}, "hunter": {Positive: time.Hour, Negative: time.Hour}},
		Logger:    f.deps.Log,
	})
	noError(f.t, err)
	f.deps.Chain.Answers, f.deps.ForgetAnswers = store, store.Forget
	return Eraser{Ledger: f.ledger, Queue: f.queue, ForgetAnswers: store.Forget, Log: f.deps.Log}
}

// inRedis is everything that Redis holds, in the clear.
func (f *fleet) inRedis() string {
	f.t.Helper()
	var all strings.Builder
	ctx := f.t.Context()
	keys, err := f.rdb.Keys(ctx, "*").Result()
	noError(f.t, err)
	for _, key := range keys {
		fmt.Fprintln(&all, key)
		switch f.rdb.Type(ctx, key).Val() {
		case "string":
			fmt.Fprintln(&all, f.rdb.Get(ctx, key).Val())
		case "hash":
			fmt.Fprintln(&all, f.rdb.HGetAll(ctx, key).Val())
		case "list":
			fmt.Fprintln(&all, f.rdb.LRange(ctx, key, 0, -1).Val())
		case "set":
			fmt.Fprintln(&all, f.rdb.SMembers(ctx, key).Val())
		case "zset":
			fmt.Fprintln(&all, f.rdb.ZRange(ctx, key, 0, -1).Val())
		}
	}
	return strings.ToLower(all.String())
}

// names holds Redis against the promise that nothing of the person is in it.
func (f *fleet) names(what string, ids ...string) {
	f.t.Helper()
	all := f.inRedis()
	for _, part := range append(ids, "ann.lee", "ann lee", "acme.example") {
		if strings.Contains(all, strings.ToLower(part)) {
			f.t.Errorf("%s: Redis still has %q", what, part)
		}
	}
}

// Leads of one person in every state that a task can have.
func TestAForgottenPersonIsErasedFromEveryQueue(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(down("")))
	e := f.remembering()
	f.deps.Chain.Retry = quick
	stop := f.start()
	archived := f.put("ann.lee+1@acme.example")[0]
	f.outcome(archived)
	f.becomes(archived, TaskStates{Enrich: "archived"})
	f.deps.Chain.Retry.Budget = time.Hour // the next ones wait for their retry until the end of the test
	f.deps.Chain.Retry.Base = 30 * time.Minute
	stop()
	stop = f.start()
	waiting := f.put("ann.lee@acme.example")[0]
	f.becomes(waiting, TaskStates{Enrich: "retry", Fallback: "scheduled"})
	stop()
	pending := f.put("Ann.Lee+news@ACME.example", "bo.ray@umbra.example")
	done := f.put("ann.lee+done@acme.example")[0]
	f.completed(done)

	sum, err := e.Forget(t.Context(), "ANN.LEE@acme.example")
	noError(t, err)
	if sum.Leads != 4 || sum.Outcomes != 1 || sum.Tasks != 5 || !sum.Remembered || sum.UnderWay != 0 || sum.TrailEntries == 0 {
		t.Errorf("it says %+v", sum)
	}
	f.names("after forget", archived.LeadID, waiting.LeadID, pending[0].LeadID, done.LeadID)
	equal(t, "the other lead", f.states(pending[1]), TaskStates{Enrich: "pending"})
	for _, a := range []ledger.Accepted{archived, waiting, pending[0], done} {
		if _, err := f.ledger.Get(t.Context(), a.LeadID); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("the ledger still has a lead: %v", err)
		}
	}
	again, err := e.Forget(t.Context(), "ann.lee@acme.example")
	noError(t, err)
	equal(t, "a second time", again, Erased{Remembered: true})
	equal(t, "the books", f.audit(0).Accepted, int64(1))
}

// completed makes the lead's enrichment a task that asynq keeps after it was done.
func (f *fleet) completed(a ledger.Accepted) {
	f.t.Helper()
	id := EnrichID(a.LeadID, a.Generation)
	ctx := f.t.Context()
	_, err := f.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.LRem(ctx, queueKey(QueueEnrich, "pending"), 0, id)
		p.HSet(ctx, taskKey(QueueEnrich, id), "state", "completed")
		p.ZAdd(ctx, queueKey(QueueEnrich, "completed"), redis.Z{Score: float64(time.Now().Add(time.Hour).Unix()), Member: id})
		return nil
	})
	noError(f.t, err)
	info, err := f.inspector.GetTaskInfo(QueueEnrich, id)
	noError(f.t, err)
	equal(f.t, "the state", info.State, asynq.TaskStateCompleted)
}

func TestAForgottenPersonIsTurnedAwayInEverySpelling(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.remembering()
	_, err := e.Forget(t.Context(), "ann.lee@bücher.example")
	noError(t, err)
	spelled := []string{
		"ann.lee@bücher.example", "ANN.LEE@BÜCHER.EXAMPLE", "ann.lee@xn--bcher-kva.example", "ann.lee+anything@bücher.example", "mailto:Ann.Lee@bücher.example",
	}
	for i, a := range f.put(append(spelled, "ann.leen@bücher.example")...) {
		if a.Suppressed != (i < len(spelled)) {
			t.Errorf("spelling %d: turned away %v", i, a.Suppressed)
		}
	}
	equal(t, "the books", f.audit(0), Books{Accepted: 1, Open: 1})
}

// A worker is in the middle of a call when the person is erased.
func TestALeadThatIsWorkedOnIsErasedToo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(sandbox.Fault{Kind: sandbox.KindHang}))
	e := f.remembering()
	f.start()
	a := f.put("ann.lee@acme.example")[0]
	testkit.Eventually(t, soon, "the call is under way", func() bool { return f.sandbox.CallsFor("clearbit", "ann.lee@acme.example") > 0 })
	sum, err := e.Forget(t.Context(), "ann.lee@acme.example")
	noError(t, err)
	if sum.Leads != 1 || sum.UnderWay != 0 {
		t.Errorf("it says %+v", sum)
	}
	f.becomes(a, TaskStates{})
	f.names("after forget", a.LeadID)
}

func TestForgetStopsWithTheContextAndSaysSo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.remembering()
	f.put("ann.lee@acme.example")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Forget(ctx, "ann.lee@acme.example"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(f.inRedis(), "ann.lee") {
		t.Error("a cancelled Forget erased all the same")
	}
}

// cy is known by name; Hunter finds the address.
var cy = lead.Lead{Name: "Cy Fox", Company: "Acme", Source: "crm", SourceID: "7"}

const cyAddress = "cy.fox@acme.example"

// byName makes a chain that finds addresses of those who are known by name.
func (f *fleet) byName() {
	f.deps.Chain.Providers = []providers.Provider{f.provider("hunter")}
	f.deps.Chain.Want = []lead.Field{lead.PersonName, lead.PersonEmail, lead.PersonTitle, lead.PersonLocation, lead.CompanyName, lead.CompanyDomain}
	f.deps.Chain.IsSuppressed = f.ledger.IsSuppressed
}

func (f *fleet) putLead(l lead.Lead) ledger.Accepted {
	f.t.Helper()
	l, err := lead.Normalize(l)
	noError(f.t, err)
	e := &Enqueuer{Ledger: f.ledger, Queue: f.queue, Log: f.deps.Log}
	a, err := e.Put(f.t.Context(), []lead.Lead{l})
	noError(f.t, err)
	return a[0]
}

// enriched puts a lead and stops the worker again when it has its outcome.
func (f *fleet) enriched(l lead.Lead) ledger.Accepted {
	f.t.Helper()
	stop := f.start()
	defer stop()
	a := f.putLead(l)
	f.outcome(a)
	f.becomes(a, TaskStates{})
	return a
}

// kept is how many answers are kept under the names, which are none afterwards.
func (f *fleet) kept(subjects ...string) (n int) {
	f.t.Helper()
	for _, s := range subjects {
		k, err := f.deps.ForgetAnswers(f.t.Context(), s)
		if err != nil && !errors.Is(err, resilience.ErrOtherSecret) {
			f.t.Fatal(err)
		}
		n += k
	}
	return n
}

func TestWhoIsForgottenByAFoundAddressDoesNotComeBackByName(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.remembering()
	f.byName()
	f.enriched(cy)
	sum, err := e.Forget(t.Context(), cyAddress)
	noError(t, err)
	equal(t, "erased", sum.Leads, 1)
	equal(t, "answers under the name", f.kept("name:cy fox@acme", "name:cy fox@acme.example", cyAddress), 0)
	equal(t, "the next import", f.putLead(cy).Suppressed, true)
}

// The address was found and said not to exist: it stands only in the trail.
func TestWhoIsOnlyNamedInATrailIsForgottenToo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.remembering()
	f.byName()
	a := f.enriched(lead.Lead{Name: "Amy Ward", Company: "Acme"})
	o := f.outcome(a)
	if o.Profile[lead.PersonEmail] != "" {
		t.Fatalf("the address was taken: %v", o.Profile)
	}
	sum, err := e.Forget(t.Context(), "amy.ward@acme.example")
	noError(t, err)
	equal(t, "erased", sum.Leads, 1)
	if _, err := f.ledger.Get(t.Context(), a.LeadID); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("the ledger still has the lead: %v", err)
	}
}

func TestForgetThatFailedGoesOnWhenItIsRunAgain(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.remembering()
	f.byName()
	f.enriched(cy)
	works := e.ForgetAnswers
	e.ForgetAnswers = func(context.Context, string) (int, error) { return 0, errors.New("Redis is away") }
	if _, err := e.Forget(t.Context(), cyAddress); err == nil {
		t.Error("it does not say that it failed")
	}
	e.ForgetAnswers = works
	_, err := e.Forget(t.Context(), cyAddress)
	noError(t, err)
	equal(t, "answers that are left", f.kept("name:cy fox@acme", "name:cy fox@acme.example", cyAddress), 0)
}

func TestASecretThatWasReplacedKeepsForgetFromNothingElse(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	e := f.remembering()
	f.byName()
	f.enriched(cy)
	mark := redis.Z{Score: float64(time.Now().Add(-10 * time.Minute).UnixMilli()), Member: "an old secret's mark"}
	noError(t, f.rdb.ZAdd(t.Context(), "backstop:answers:marks", mark).Err())
	sum, err := e.Forget(t.Context(), cyAddress)
	if !errors.Is(err, resilience.ErrOtherSecret) || sum.Leads != 1 || !sum.Remembered {
		t.Errorf("it says %+v, %v", sum, err)
	}
	equal(t, "answers under the present secret", f.kept("name:cy fox@acme", "name:cy fox@acme.example", cyAddress), 0)
}
