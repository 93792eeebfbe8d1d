package accept_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/rs/zerolog"

	"backstop/accept"
	"backstop/lead"
	"backstop/ops"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

func TestLeadsAreAcceptedWhileRedisIsDownAndQueuedLater(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.Redis.Kill()
	const n = 500
	e := f.Enqueuer()
	accepted, err := e.Put(t.Context(), replicas.Leads(t, replicas.Emails(n)...))
	testkit.NoError(t, err)
	testkit.Equal(t, "unqueued", e.Unqueued(), n)
	testkit.Equal(t, "accepted", len(accepted), n)
	if log := f.Log.String(); strings.Count(log, `"event":"unqueued"`) != 1 {
		t.Errorf("the log says it %d times", strings.Count(log, `"event":"unqueued"`))
	}

	f.Restart()
	if b := f.Audit(time.Hour); b.Unaccounted != n || b.Open != n {
		t.Errorf("before the reconciler: %+v", b)
	}
	f.Reconcile()
	testkit.Equal(t, "rescued", f.Seen.RescuedTo(queue.QueueEnrich), n)
	testkit.Equal(t, "audit", f.Audit(time.Hour), ops.AuditCounts{Accepted: n, Open: n})
	f.Start()
	for _, a := range accepted {
		testkit.Equal(t, "status", f.Outcome(a).Status, lead.StatusEnriched)
	}
}

// A source system must not wait long for each of its batches.
func TestBatchDoesNotTryEveryLeadOnARedisThatHangs(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	rdb := redis.NewClient(&redis.Options{
		Addr: f.Redis.Addr(), ReadTimeout: 100 * time.Millisecond, MaxRetries: -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer func() { testkit.NoError(t, rdb.Close()) }()
	f.Redis.Stop()
	defer f.Redis.Cont()
	const n = 4000
	e := accept.New(f.Ledger, queue.New(rdb, "backstop"), f.Deps.Log)
	began := time.Now()
	_, err := e.Put(t.Context(), replicas.Leads(t, replicas.Emails(n)...))
	testkit.NoError(t, err)
	// One lead after the other, 32 at once, it would be 12 seconds.
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("%d leads took %s", n, took)
	}
	testkit.Equal(t, "unqueued", e.Unqueued(), n)
}

// A long file is many batches. While Redis hangs, they must not pay for it one by one.
func TestBatchesShareTheWaitForARedisThatHangs(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	rdb := redis.NewClient(&redis.Options{
		Addr: f.Redis.Addr(), ReadTimeout: 300 * time.Millisecond, MaxRetries: -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer func() { testkit.NoError(t, rdb.Close()) }()
	f.Redis.Stop()
	defer f.Redis.Cont()
	var log bytes.Buffer
	const n = 40
	e := accept.New(f.Ledger, queue.New(rdb, "backstop"), zerolog.New(&log))
	began := time.Now()
	for _, email := range replicas.Emails(n) {
		_, err := e.Put(t.Context(), replicas.Leads(t, email))
		testkit.NoError(t, err)
	}
	// One after the other it would be 12 seconds.
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("%d batches took %s", n, took)
	}
	testkit.Equal(t, "unqueued", e.Unqueued(), n)
	testkit.Equal(t, "log lines", strings.Count(log.String(), "\n"), 1)
}

func TestDuplicateGetsItsTaskBackOnlyWhileItHasNoOutcome(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a, err := f.Ledger.Accept(t.Context(), replicas.Leads(t, "ann.lee@acme.example")) // and then the intake died
	testkit.NoError(t, err)
	again := f.Put("ann.lee@acme.example", "Ann.Lee@ACME.example")
	for _, x := range again {
		if !x.Duplicate || x.LeadID != a[0].LeadID || x.RequestID != a[0].RequestID {
			t.Errorf("accepted as %+v", x)
		}
	}
	f.Start()
	f.Outcome(a[0])
	f.Becomes(a[0], queue.States{})
	f.Put("ann.lee@acme.example")
	testkit.Equal(t, "states", f.States(a[0]), queue.States{})
	testkit.Equal(t, "calls", f.Sandbox.CallsFor("clearbit", "ann.lee@acme.example"), 1)
}
