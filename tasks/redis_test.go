package tasks

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"backstop/lead"
	"backstop/providers/sandbox"
	"backstop/resilience"
	"backstop/testkit"
)

func TestLeadsAreAcceptedWhileRedisIsDownAndQueuedLater(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.redis.Kill()
	const n = 500
	e := &Enqueuer{Ledger: f.ledger, Queue: f.queue, Log: f.deps.Log}
	accepted, err := e.Put(t.Context(), leads(t, emails(n)...))
	noError(t, err)
	equal(t, "unqueued", e.Unqueued(), n)
	equal(t, "accepted", len(accepted), n)
	if log := f.log.String(); strings.Count(log, `"event":"unqueued"`) != 1 {
		t.Errorf("the log says it %d times", strings.Count(log, `"event":"unqueued"`))
	}

	f.restart()
	if b := f.audit(time.Hour); b.Unaccounted != n || b.Open != n {
		t.Errorf("before the reconciler: %+v", b)
	}
	f.reconcile()
	equal(t, "rescued", f.seen.rescued(QueueEnrich), n)
	equal(t, "audit", f.audit(time.Hour), Books{Accepted: n, Open: n})
	f.start()
	for _, a := range accepted {
		equal(t, "status", f.outcome(a).Status, lead.StatusEnriched)
	}
}

// A source system must not wait long for each of its batches.
func TestBatchDoesNotTryEveryLeadOnARedisThatHangs(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	rdb := redis.NewClient(&redis.Options{
		Addr: f.redis.Addr(), ReadTimeout: 100 * time.Millisecond, MaxRetries: -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer func() { noError(t, rdb.Close()) }()
	f.redis.Stop()
	defer f.redis.Cont()
	const n = 4000
	e := &Enqueuer{Ledger: f.ledger, Queue: NewQueue(rdb), Log: f.deps.Log}
	began := time.Now()
	_, err := e.Put(t.Context(), leads(t, emails(n)...))
	noError(t, err)
	// One lead after the other, 32 at once, it would be 12 seconds.
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("%d leads took %s", n, took)
	}
	equal(t, "unqueued", e.Unqueued(), n)
}

func TestLeadsComeBackAfterRedisLostEverything(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{
		Latency: sandbox.Latency{Min: 50 * time.Millisecond, Max: 200 * time.Millisecond},
		Faults:  []sandbox.Fault{{Provider: "clearbit", Status: 503, Calls: 1, Share: 0.5}},
	})
	f.start()
	f.start() // a second replica
	const n = 60
	accepted := f.put(emails(n)...)
	testkit.Eventually(t, soon, "some leads are settled and some are not", func() bool {
		return f.audit(0).Settled.Total() >= n/4
	})
	f.redis.FlushAll()
	f.reconcile()
	for _, a := range accepted {
		equal(t, "status", f.outcome(a).Status, lead.StatusEnriched)
	}
	equal(t, "audit", f.audit(time.Hour), Books{Accepted: n, Settled: SettledBook{Enriched: n}})
	if _, err := f.inspector.GetQueueInfo(QueueEnrich); err != nil {
		t.Errorf("asynq's inspector: %v", err)
	}
	for _, a := range accepted {
		if calls := f.sandbox.CallsFor("clearbit", a.Lead.Email); calls > 3 {
			t.Errorf("%d calls about one lead", calls)
		}
	}
}

func TestLostReplyToAnEnqueueIsNoError(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	proxy := testkit.NewProxy(t, f.redis.Addr())
	rdb := redis.NewClient(&redis.Options{
		Addr: proxy.Addr(), ReadTimeout: 300 * time.Millisecond,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer func() { noError(t, rdb.Close()) }()
	queue := NewQueue(rdb)
	accepted, err := f.ledger.Accept(t.Context(), leads(t, "ann.lee@acme.example", "bo.ray@umbra.example"))
	noError(t, err)
	// The first fills the connection and asynq's cache of queues.
	if existed, err := queue.Enrich(t.Context(), payloadOf(accepted[0])); err != nil || existed {
		t.Fatalf("Enrich: existed %t, %v", existed, err)
	}
	proxy.DropReplies()
	type reply struct {
		existed bool
		err     error
	}
	said := make(chan reply, 1)
	go func() {
		existed, err := queue.Enrich(context.Background(), payloadOf(accepted[1]))
		said <- reply{existed, err}
	}()
	testkit.Eventually(t, soon, "Redis has answered", func() bool { return proxy.Dropped() > 0 })
	proxy.Restore()
	if got := <-said; got.err != nil || !got.existed {
		t.Errorf("Enrich: existed %t, %v; want that it was there", got.existed, got.err)
	}
	equal(t, "states", f.states(accepted[1]), TaskStates{Enrich: "pending"})
}

func TestFallbackIsArmedAgainWhenRedisWasAway(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	h := newHandlers(f.deps)
	arm := h.hooks(&job{payload: payloadOf(a), progress: resilience.NewProgress(a.Lead, 1, time.Now()), log: f.deps.Log}).Arm
	f.redis.Kill()
	equal(t, "armed while Redis is away", arm(t.Context(), time.Now().Add(time.Hour)), false)
	f.restart()
	equal(t, "armed", arm(t.Context(), time.Now().Add(time.Hour)), true)
	equal(t, "armed twice", arm(t.Context(), time.Now().Add(time.Hour)), true)
	equal(t, "states", f.states(a), TaskStates{Fallback: "scheduled"})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	b := f.put("bo.ray@umbra.example")[0]
	arm = h.hooks(&job{payload: payloadOf(b), log: f.deps.Log}).Arm
	equal(t, "armed although the walk was cut short", arm(cancelled, time.Now().Add(time.Hour)), true)
}
