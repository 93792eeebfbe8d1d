package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers"
	"backstop/providers/sandbox"
	"backstop/resilience"
	"backstop/testkit"
)

// A watched reconciler has a clock that the test moves.
func (f *fleet) watched() (r *reconciler, forward func(time.Duration)) {
	f.t.Helper()
	f.epoch()
	now := time.Now()
	d := f.deps
	d.Now = func() time.Time { return now }
	r = newReconciler(newHandlers(d))
	return r, func(by time.Duration) {
		f.t.Helper()
		for ; by > pulseMost; by -= pulseMost { // a living reconciler looks often
			now = now.Add(pulseMost)
			noError(f.t, r.step(f.t.Context()))
		}
		now = now.Add(by)
		noError(f.t, r.step(f.t.Context()))
	}
}

// takes makes the lead's task one that a worker took and then was not heard of,
// with the keys that asynq's dequeue leaves.
func (f *fleet) takes(queue, id string) {
	f.t.Helper()
	ctx := f.t.Context()
	noError(f.t, f.rdb.LRem(ctx, queueKey(queue, "pending"), 1, id).Err())
	noError(f.t, f.rdb.LPush(ctx, queueKey(queue, "active"), id).Err())
	noError(f.t, f.rdb.ZAdd(ctx, queueKey(queue, "lease"), redis.Z{Score: float64(time.Now().Add(30 * time.Second).Unix()), Member: id}).Err())
	noError(f.t, f.rdb.HSet(ctx, taskKey(queue, id), "state", "active").Err())
}

func TestTheLeadOfADeadWorkerGoesOn(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	r, forward := f.watched()
	f.takes(QueueEnrich, EnrichID(a.LeadID, 1))
	before, err := f.ledger.Get(t.Context(), a.LeadID)
	noError(t, err)

	forward(0)
	forward(rescueAfter - time.Second)
	equal(t, "before its time", f.states(a), TaskStates{Enrich: "active"})
	forward(2 * time.Second)
	equal(t, "in its time", f.states(a), TaskStates{Enrich: "pending"})
	equal(t, "rescued", f.seen.rescued(QueueEnrich), 1)

	_, err = r.Ledger.Record(t.Context(), ledger.Attempt{LeadID: a.LeadID, Generation: 1, Version: before.Version})
	equal(t, "a write of the dead worker is fenced", errors.Is(err, ledger.ErrStale), true)
	f.start()
	o := f.outcome(a)
	equal(t, "status", o.Status, lead.StatusEnriched)
	equal(t, "class of the first entry", o.Trail[0].Class, lead.ClassCrash)
}

func TestALeaseThatIsRenewedIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	id := EnrichID(a.LeadID, 1)
	_, forward := f.watched()
	f.takes(QueueEnrich, id)
	for range 4 {
		forward(5 * time.Second)
		noError(t, f.rdb.ZIncrBy(t.Context(), queueKey(QueueEnrich, "lease"), 5, id).Err())
	}
	equal(t, "states", f.states(a), TaskStates{Enrich: "active"})
}

func TestATaskThatLostItsLeaseIsRepaired(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	id := EnrichID(a.LeadID, 1)
	_, forward := f.watched()
	f.takes(QueueEnrich, id)
	noError(t, f.rdb.ZRem(t.Context(), queueKey(QueueEnrich, "lease"), id).Err())
	forward(0)
	forward(rescueAfter)
	equal(t, "states", f.states(a), TaskStates{Enrich: "pending"})
}

func TestAnUnacknowledgedTaskOfASettledLeadIsRemoved(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	_, forward := f.watched()
	f.takes(QueueEnrich, EnrichID(a.LeadID, 1))
	_, err := f.ledger.Settle(t.Context(), ledger.Settlement{LeadID: a.LeadID, Generation: 1, Status: lead.StatusEnriched})
	noError(t, err)
	forward(0)
	forward(rescueAfter)
	equal(t, "states", f.states(a), TaskStates{})
	equal(t, "rescued", f.seen.rescued(QueueEnrich), 0)
}

func TestALeadThatKillsItsWorkersIsSettledAsPartial(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{QueueEnrich, QueueFallback} {
		t.Run("in "+queue, func(t *testing.T) {
			f := newFleet(t, sandbox.Script{})
			a := f.put("ann.lee@acme.example")[0]
			id := EnrichID(a.LeadID, 1)
			if queue == QueueFallback {
				id = FallbackID(a.LeadID, 1)
				noError(t, f.queue.RunFallback(t.Context(), payloadOf(a)))
			}
			_, forward := f.watched()
			for range poisonous {
				f.takes(queue, id)
				forward(0)
				forward(rescueAfter)
			}
			o := f.outcome(a)
			equal(t, "status", o.Status, lead.StatusPartial)
			equal(t, "company's domain", o.Profile[lead.CompanyDomain], "acme.example")
			if !strings.HasPrefix(o.Reason, "poison: 3 runs") {
				t.Errorf("the reason is %q", o.Reason)
			}
			state, err := f.rdb.HGet(t.Context(), taskKey(queue, id), "state").Result()
			noError(t, err)
			equal(t, "state", state, "archived")
		})
	}
}

func TestOneReconcilerActsAtATime(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	for token, want := range map[string]bool{"a": true} {
		held, err := f.queue.hold(t.Context(), token, time.Minute)
		noError(t, err)
		equal(t, token, held, want)
	}
	for token, want := range map[string]bool{"a": true, "b": false} {
		held, err := f.queue.hold(t.Context(), token, time.Minute)
		noError(t, err)
		equal(t, token, held, want)
	}
	noError(t, f.rdb.PExpire(t.Context(), f.queue.key("reconciler"), time.Millisecond).Err())
	testkit.Eventually(t, soon, "the lease of the one that died goes to the other", func() bool {
		held, err := f.queue.hold(t.Context(), "b", time.Minute)
		return err == nil && held
	})
}

func TestTheArchiveStaysShortAndKeepsWhatIsNotSettled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.epoch()
	open := f.put("open@acme.example")[0]
	settled := f.put("settled@acme.example")[0]
	_, err := f.ledger.Settle(t.Context(), ledger.Settlement{LeadID: settled.LeadID, Generation: 1, Status: lead.StatusPartial})
	noError(t, err)
	noError(t, f.inspector.ArchiveTask(QueueEnrich, EnrichID(open.LeadID, 1)))
	pipe := f.rdb.Pipeline()
	key := queueKey(QueueEnrich, "archived")
	pipe.ZAdd(t.Context(), key, redis.Z{Score: 1, Member: EnrichID(open.LeadID, 1)}, redis.Z{Score: 2, Member: "somebody:else"})
	for i := range archiveHigh + 500 { // leads that the ledger has forgotten, and one that it knows
		id := EnrichID(fmt.Sprintf("ld_gone%d", i), 1)
		if i == 0 {
			id = EnrichID(settled.LeadID, 1)
		}
		pipe.ZAdd(t.Context(), key, redis.Z{Score: float64(10 + i), Member: id})
		pipe.HSet(t.Context(), taskKey(QueueEnrich, id), "state", "archived")
	}
	_, err = pipe.Exec(t.Context())
	noError(t, err)

	r, _ := f.watched()
	noError(t, r.trim(t.Context()))
	size, err := f.rdb.ZCard(t.Context(), key).Result()
	noError(t, err)
	if size > archiveLow+2 {
		t.Errorf("the archive still has %d entries", size)
	}
	for id, want := range map[string]bool{EnrichID(open.LeadID, 1): true, "somebody:else": true, EnrichID(settled.LeadID, 1): false} {
		err := f.rdb.ZScore(t.Context(), key, id).Err()
		equal(t, id, err == nil, want)
	}
	n, err := f.rdb.Exists(t.Context(), taskKey(QueueEnrich, EnrichID("ld_gone1", 1))).Result()
	noError(t, err)
	equal(t, "hash of a removed task", n, 0)
}

func TestAWorkerThatWakesBeginsNoCall(t *testing.T) {
	now := time.Now()
	p := newPulse(func() time.Time { return now })
	run, end := p.guard(t.Context())
	defer end()
	now = now.Add(pulseMost)
	equal(t, "a pause within bounds", p.beat(), false)
	noError(t, run.Err())
	now = now.Add(pulseMost + time.Millisecond)
	equal(t, "a stop", p.beat(), true)
	<-run.Done()
	next, end := p.guard(t.Context())
	defer end()
	noError(t, next.Err())
}

// The leads of a dead worker are all under suspicion. They run one at a time, so
// that the next death is one lead's and not all of theirs.
func TestSuspectsRunOneAtATime(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{Latency: sandbox.Latency{Min: 100 * time.Millisecond, Max: 100 * time.Millisecond}})
	accepted := f.put("a.one@acme.example", "b.two@acme.example", "c.three@acme.example", "d.four@acme.example", "e.five@acme.example")
	_, forward := f.watched()
	for range suspicious {
		for _, a := range accepted {
			f.takes(QueueEnrich, EnrichID(a.LeadID, 1))
		}
		forward(0)
		forward(rescueAfter)
	}
	f.start()
	for _, a := range accepted {
		equal(t, "status", f.outcome(a).Status, lead.StatusEnriched)
	}
	equal(t, "most calls at once", f.sandbox.Books().Providers["clearbit"].MostAtOnce, 1)
}

// A replica that was stopped itself has not seen the others renew their leases.
func TestAWatcherThatWakesTakesNoLeadFromTheLiving(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	f.epoch()
	now := time.Now()
	d := f.deps
	d.Now = func() time.Time { return now }
	r := newReconciler(newHandlers(d))
	f.takes(QueueEnrich, EnrichID(a.LeadID, 1))
	noError(t, r.step(t.Context()))
	now = now.Add(time.Minute)
	noError(t, r.step(t.Context()))
	equal(t, "states", f.states(a), TaskStates{Enrich: "active"})
}

// A call that the process slept through proves nothing about the provider.
func TestACallThatAStopRanIntoIsNobodysFailure(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	p := newPulse(clock)
	local := resilience.NewLocalGate([]resilience.GateConfig{{Provider: "clearbit", Failures: 1}}, resilience.LocalOptions{})
	gate := guardedGate{Gate: local, pulse: p}
	call := func(sleep time.Duration) providers.Call {
		return providers.Call{Endpoint: "find", Do: func(context.Context) providers.Answer {
			now = now.Add(sleep)
			return providers.Answer{Class: lead.ClassTransient, Detail: "time-out"}
		}}
	}
	_, _, err := resilience.Ask(t.Context(), gate, "clearbit", time.Second, call(pulseMost+time.Second), clock)
	equal(t, "the run is interrupted", errors.Is(err, context.Canceled), true)
	a, _, err := resilience.Ask(t.Context(), gate, "clearbit", time.Second, call(0), clock)
	noError(t, err) // the circuit is closed still
	equal(t, "class of a failure while awake", a.Class, lead.ClassTransient)
}

// Nobody knows which calls were made for a lead whose progress cannot be read: a
// rescue must not have them made again.
func TestARescuedLeadWithUnreadableProgressGoesToItsFallback(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	_, err := f.ledger.Record(t.Context(), ledger.Attempt{LeadID: a.LeadID, Generation: 1, Progress: []byte(`{"generation":"one"}`)})
	noError(t, err)
	_, forward := f.watched()
	f.takes(QueueEnrich, EnrichID(a.LeadID, 1))
	forward(0)
	forward(rescueAfter)
	f.start()
	equal(t, "status", f.outcome(a).Status, lead.StatusPartial)
	equal(t, "calls", f.sandbox.Books().Providers["clearbit"].Calls, 0)
}
