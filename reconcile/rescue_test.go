package reconcile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/reconcile"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

// A watched reconciler has a clock that the test moves.
func (f *fleet) watched() (r *reconcile.Reconciler, forward func(time.Duration)) {
	f.T.Helper()
	f.Known()
	now := time.Now()
	c := f.Reconciler
	c.Now = func() time.Time { return now }
	r = reconcile.New(c)
	return r, func(by time.Duration) {
		f.T.Helper()
		for ; by > reconcile.Blind; by -= reconcile.Blind { // a living reconciler looks often
			now = now.Add(reconcile.Blind)
			testkit.NoError(f.T, r.Step(f.T.Context()))
		}
		now = now.Add(by)
		testkit.NoError(f.T, r.Step(f.T.Context()))
	}
}

// takes makes the lead's task one that a worker took and then was not heard of,
// with the keys that asynq's dequeue leaves.
func (f *fleet) takes(queue, id string) {
	f.T.Helper()
	ctx := f.T.Context()
	testkit.NoError(f.T, f.RDB.LRem(ctx, asynqKey(queue, "pending"), 1, id).Err())
	testkit.NoError(f.T, f.RDB.LPush(ctx, asynqKey(queue, "active"), id).Err())
	testkit.NoError(f.T, f.RDB.ZAdd(ctx, asynqKey(queue, "lease"), redis.Z{Score: float64(time.Now().Add(30 * time.Second).Unix()), Member: id}).Err())
	testkit.NoError(f.T, f.RDB.HSet(ctx, asynqTask(queue, id), "state", "active").Err())
}

func TestTheLeadOfADeadWorkerGoesOn(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	r, forward := f.watched()
	f.takes(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1))
	before, err := f.Ledger.Get(t.Context(), a.LeadID)
	testkit.NoError(t, err)

	forward(0)
	forward(reconcile.RescueAfter - time.Second)
	testkit.Equal(t, "before its time", f.States(a), queue.States{Enrich: "active"})
	forward(2 * time.Second)
	testkit.Equal(t, "in its time", f.States(a), queue.States{Enrich: "pending"})
	testkit.Equal(t, "rescued", f.Seen.RescuedTo(queue.QueueEnrich), 1)

	_, err = r.Ledger.SaveAttempt(t.Context(), ledger.Attempt{LeadID: a.LeadID, Generation: 1, Version: before.Version})
	testkit.Equal(t, "a write of the dead worker is fenced", errors.Is(err, ledger.ErrStale), true)
	f.Start()
	o := f.Outcome(a)
	testkit.Equal(t, "status", o.Status, lead.StatusEnriched)
	testkit.Equal(t, "class of the first entry", o.Trail[0].Class, lead.ClassCrash)
}

func TestALeaseThatIsRenewedIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	id := queue.EnrichID(a.LeadID, 1)
	_, forward := f.watched()
	f.takes(queue.QueueEnrich, id)
	for range 4 {
		forward(5 * time.Second)
		testkit.NoError(t, f.RDB.ZIncrBy(t.Context(), asynqKey(queue.QueueEnrich, "lease"), 5, id).Err())
	}
	testkit.Equal(t, "states", f.States(a), queue.States{Enrich: "active"})
}

func TestATaskThatLostItsLeaseIsRepaired(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	id := queue.EnrichID(a.LeadID, 1)
	_, forward := f.watched()
	f.takes(queue.QueueEnrich, id)
	testkit.NoError(t, f.RDB.ZRem(t.Context(), asynqKey(queue.QueueEnrich, "lease"), id).Err())
	forward(0)
	forward(reconcile.RescueAfter)
	testkit.Equal(t, "states", f.States(a), queue.States{Enrich: "pending"})
}

func TestAnUnacknowledgedTaskOfASettledLeadIsRemoved(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	_, forward := f.watched()
	f.takes(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1))
	_, err := f.Ledger.Settle(t.Context(), ledger.Settlement{LeadID: a.LeadID, Generation: 1, Status: lead.StatusEnriched})
	testkit.NoError(t, err)
	forward(0)
	forward(reconcile.RescueAfter)
	testkit.Equal(t, "states", f.States(a), queue.States{})
	testkit.Equal(t, "rescued", f.Seen.RescuedTo(queue.QueueEnrich), 0)
}

func TestALeadThatKillsItsWorkersIsSettledAsPartial(t *testing.T) {
	t.Parallel()
	for _, name := range queue.Names {
		t.Run("in "+name, func(t *testing.T) {
			f := newFleet(t, sandbox.Script{})
			a := f.Put("ann.lee@acme.example")[0]
			id := queue.EnrichID(a.LeadID, 1)
			if name == queue.QueueFallback {
				id = queue.FallbackID(a.LeadID, 1)
				testkit.NoError(t, f.Queue.RunFallback(t.Context(), replicas.PayloadOf(a)))
			}
			_, forward := f.watched()
			for range 3 {
				f.takes(name, id)
				forward(0)
				forward(reconcile.RescueAfter)
			}
			o := f.Outcome(a)
			testkit.Equal(t, "status", o.Status, lead.StatusPartial)
			testkit.Equal(t, "company's domain", o.Profile[lead.CompanyDomain], "acme.example")
			if !strings.HasPrefix(o.Reason, "quarantined: 3 runs") {
				t.Errorf("the reason is %q", o.Reason)
			}
			state, err := f.RDB.HGet(t.Context(), asynqTask(name, id), "state").Result()
			testkit.NoError(t, err)
			testkit.Equal(t, "state", state, "archived")
		})
	}
}

// asynqKey is one of asynq's keys for a queue.
func asynqKey(queue, name string) string { return "asynq:{" + queue + "}:" + name }

func asynqTask(queue, id string) string { return asynqKey(queue, "t:"+id) }

func TestOneReconcilerActsAtATime(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	for token, want := range map[string]bool{"a": true} {
		held, err := f.Queue.AcquireLease(t.Context(), token, time.Minute)
		testkit.NoError(t, err)
		testkit.Equal(t, token, held, want)
	}
	for token, want := range map[string]bool{"a": true, "b": false} {
		held, err := f.Queue.AcquireLease(t.Context(), token, time.Minute)
		testkit.NoError(t, err)
		testkit.Equal(t, token, held, want)
	}
	testkit.NoError(t, f.RDB.PExpire(t.Context(), "backstop:tasks:reconciler", time.Millisecond).Err())
	testkit.Eventually(t, replicas.Soon, "the lease of the one that died goes to the other", func() bool {
		held, err := f.Queue.AcquireLease(t.Context(), "b", time.Minute)
		return err == nil && held
	})
}

func TestTheArchiveStaysShortAndKeepsWhatIsNotSettled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.Known()
	open := f.Put("open@acme.example")[0]
	settled := f.Put("settled@acme.example")[0]
	_, err := f.Ledger.Settle(t.Context(), ledger.Settlement{LeadID: settled.LeadID, Generation: 1, Status: lead.StatusPartial})
	testkit.NoError(t, err)
	testkit.NoError(t, f.Inspector.ArchiveTask(queue.QueueEnrich, queue.EnrichID(open.LeadID, 1)))
	pipe := f.RDB.Pipeline()
	key := asynqKey(queue.QueueEnrich, "archived")
	pipe.ZAdd(t.Context(), key, redis.Z{Score: 1, Member: queue.EnrichID(open.LeadID, 1)}, redis.Z{Score: 2, Member: "somebody:else"})
	for i := range reconcile.ArchiveHigh + 500 { // leads that the ledger has forgotten, and one that it knows
		id := queue.EnrichID(fmt.Sprintf("ld_gone%d", i), 1)
		if i == 0 {
			id = queue.EnrichID(settled.LeadID, 1)
		}
		pipe.ZAdd(t.Context(), key, redis.Z{Score: float64(10 + i), Member: id})
		pipe.HSet(t.Context(), asynqTask(queue.QueueEnrich, id), "state", "archived")
	}
	_, err = pipe.Exec(t.Context())
	testkit.NoError(t, err)

	r, _ := f.watched()
	testkit.NoError(t, r.Trim(t.Context()))
	size, err := f.RDB.ZCard(t.Context(), key).Result()
	testkit.NoError(t, err)
	if size > reconcile.ArchiveLow+2 {
		t.Errorf("the archive still has %d entries", size)
	}
	for id, want := range map[string]bool{queue.EnrichID(open.LeadID, 1): true, "somebody:else": true, queue.EnrichID(settled.LeadID, 1): false} {
		err := f.RDB.ZScore(t.Context(), key, id).Err()
		testkit.Equal(t, id, err == nil, want)
	}
	n, err := f.RDB.Exists(t.Context(), asynqTask(queue.QueueEnrich, queue.EnrichID("ld_gone1", 1))).Result()
	testkit.NoError(t, err)
	testkit.Equal(t, "hash of a removed task", n, 0)
}

// The leads of a dead worker are all under suspicion. They run one at a time, so
// that the next death is one lead's and not all of theirs.
func TestSuspectsRunOneAtATime(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{Latency: sandbox.Latency{Min: 100 * time.Millisecond, Max: 100 * time.Millisecond}})
	accepted := f.Put("a.one@acme.example", "b.two@acme.example", "c.three@acme.example", "d.four@acme.example", "e.five@acme.example")
	_, forward := f.watched()
	for range 2 {
		for _, a := range accepted {
			f.takes(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1))
		}
		forward(0)
		forward(reconcile.RescueAfter)
	}
	f.Start()
	for _, a := range accepted {
		testkit.Equal(t, "status", f.Outcome(a).Status, lead.StatusEnriched)
	}
	testkit.Equal(t, "most calls at once", f.Sandbox.Books().Providers["clearbit"].MostAtOnce, 1)
}

// A replica that was stopped itself has not seen the others renew their leases.
func TestAWatcherThatWakesTakesNoLeadFromTheLiving(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	f.Known()
	now := time.Now()
	c := f.Reconciler
	c.Now = func() time.Time { return now }
	r := reconcile.New(c)
	f.takes(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1))
	testkit.NoError(t, r.Step(t.Context()))
	now = now.Add(time.Minute)
	testkit.NoError(t, r.Step(t.Context()))
	testkit.Equal(t, "states", f.States(a), queue.States{Enrich: "active"})
}

// Nobody knows which calls were made for a lead whose progress cannot be read: a
// rescue must not have them made again.
func TestARescuedLeadWithUnreadableProgressGoesToItsFallback(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.Put("ann.lee@acme.example")[0]
	_, err := f.Ledger.SaveAttempt(t.Context(), ledger.Attempt{LeadID: a.LeadID, Generation: 1, Progress: []byte(`{"generation":"one"}`)})
	testkit.NoError(t, err)
	_, forward := f.watched()
	f.takes(queue.QueueEnrich, queue.EnrichID(a.LeadID, 1))
	forward(0)
	forward(reconcile.RescueAfter)
	f.Start()
	testkit.Equal(t, "status", f.Outcome(a).Status, lead.StatusPartial)
	testkit.Equal(t, "calls", f.Sandbox.Books().Providers["clearbit"].Calls, 0)
}
