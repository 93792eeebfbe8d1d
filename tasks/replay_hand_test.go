package tasks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers/sandbox"
)

func TestArchivedTaskThatIsRunByHandIsReplayed(t *testing.T) {
	t.Parallel()
	f, accepted := afterOutage(t, 2)
	a, other := accepted[0], accepted[1]
	noError(t, f.inspector.RunTask(QueueEnrich, EnrichID(a.LeadID, 1)))
	o := f.raised(a)
	equal(t, "last call", classes(o.Trail)[len(o.Trail)-1], "clearbit ok")
	f.becomes(a, TaskStates{}) // the old task is done, and not in the archive any more
	equal(t, "generation", f.record(a).Generation, 2)
	a.Generation = 2
	f.becomes(a, TaskStates{})
	if log := f.log.String(); strings.Count(log, `"event":"replayed"`) != 1 {
		t.Errorf("the log says %d times that a lead was replayed", strings.Count(log, `"event":"replayed"`))
	}
	equal(t, "the other lead", f.states(other), TaskStates{Enrich: "archived"})
	equal(t, "its generation", f.record(other).Generation, 1)
}

// loseAcknowledgement leaves a task as one whose worker's last word did not reach
// Redis: in work, with a lease that ended a minute ago and the message as it was.
// asynq's recoverer finds it when the next server starts.
func (f *fleet) loseAcknowledgement(a ledger.Accepted) {
	f.t.Helper()
	id := EnrichID(a.LeadID, a.Generation)
	_, err := f.rdb.TxPipelined(f.t.Context(), func(p redis.Pipeliner) error {
		p.LRem(f.t.Context(), queueKey(QueueEnrich, "pending"), 0, id)
		p.LPush(f.t.Context(), queueKey(QueueEnrich, "active"), id)
		p.ZAdd(f.t.Context(), queueKey(QueueEnrich, "lease"), redis.Z{Score: float64(time.Now().Add(-time.Minute).Unix()), Member: id})
		p.HSet(f.t.Context(), taskKey(QueueEnrich, id), "state", "active")
		return nil
	})
	noError(f.t, err)
}

func TestLostAcknowledgementOfASettledLeadIsNoReplay(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	a := f.put("ann.lee@acme.example")[0]
	_, err := f.ledger.Settle(t.Context(), ledger.Settlement{LeadID: a.LeadID, Generation: 1, Status: lead.StatusPartial})
	noError(t, err)
	f.loseAcknowledgement(a)
	f.start()
	f.becomes(a, TaskStates{})
	equal(t, "calls", f.sandbox.Books().Providers["clearbit"].Calls, 0)
	equal(t, "generation", f.record(a).Generation, 1)
}

// The same for a lead that was retried before: its message holds an error too.
func TestTaskThatComesBackAfterARetryIsNoReplay(t *testing.T) {
	t.Parallel()
	f := newFleet(t, faults(sandbox.Fault{Provider: "clearbit", Status: 503, Calls: 1}))
	f.deps.Chain.Retry.Base = time.Hour
	f.deps.Chain.Retry.Budget = 3 * time.Hour
	stop := f.start()
	a := f.put("ann.lee@acme.example")[0]
	f.becomes(a, TaskStates{Enrich: "retry", Fallback: "scheduled"})
	stop()
	_, err := f.ledger.Settle(t.Context(), ledger.Settlement{LeadID: a.LeadID, Generation: 1, Status: lead.StatusPartial})
	noError(t, err)
	before := f.sandbox.Books().Providers["clearbit"].Calls
	noError(t, f.inspector.RunTask(QueueEnrich, EnrichID(a.LeadID, 1)))
	f.start()
	f.becomes(a, TaskStates{Fallback: "scheduled"})
	equal(t, "calls", f.sandbox.Books().Providers["clearbit"].Calls, before)
	equal(t, "generation", f.record(a).Generation, 1)
}

func TestReplayByHandIsForTheLeadsLastPartialRunOnly(t *testing.T) {
	t.Parallel()
	f, accepted := afterOutage(t, 1)
	a := accepted[0]
	h := newHandlers(f.deps)
	rec := f.record(a)
	for _, test := range []struct {
		name   string
		change func(*ledger.Record, *Payload)
	}{
		{"an enriched lead", func(r *ledger.Record, _ *Payload) { r.Status = lead.StatusEnriched }},
		{"a suppressed lead", func(r *ledger.Record, _ *Payload) { r.Status = lead.StatusSuppressed }},
		{"a lead that is being replayed", func(r *ledger.Record, _ *Payload) { r.Generation = 2 }},
		{"a lead that was replayed", func(r *ledger.Record, _ *Payload) { r.Generation, r.SettledGeneration = 2, 2 }},
		{"a task that is gone", func(r *ledger.Record, p *Payload) {
			r.LeadID, p.LeadID = "ld_gone", "ld_gone"
		}},
	} {
		r, p := rec, payloadOf(a)
		test.change(&r, &p)
		if replayed, err := h.replayByHand(t.Context(), nil, r, p); replayed || err != nil {
			t.Errorf("%s: %t, %v", test.name, replayed, err)
		}
	}
	equal(t, "generation", f.record(a).Generation, 1)
	for range 2 { // the second time another one has begun it
		_, err := h.replayByHand(t.Context(), nil, rec, payloadOf(a))
		noError(t, err)
	}
	equal(t, "generation after a replay", f.record(a).Generation, 2)
}

func TestOnlyTheErrorOfAnArchivedTaskTellsAReplayByHand(t *testing.T) {
	for _, test := range []struct {
		lastErr string
		want    bool
	}{
		{"exhausted: clearbit: transient 503: " + asynq.SkipRetry.Error(), true},
		{replayUnstarted, true},
		{"", false},
		{asynq.ErrLeaseExpired.Error(), false},
		{"clearbit: transient 503; retry 1, of clearbit", false},
		{"interrupted", false},
	} {
		if got := wasArchived(test.lastErr); got != test.want {
			t.Errorf("%q: got %t", test.lastErr, got)
		}
	}
}

// A replay by hand that could not be started is one still when its task comes back.
func TestReplayByHandThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	f, accepted := afterOutage(t, 1)
	a := accepted[0]
	h := newHandlers(f.deps)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // as if the ledger could not be written
	err := h.settledAlready(ctx, asynq.NewTask(TypeEnrich, nil), f.record(a), payloadOf(a), f.deps.Log)
	var later *Later
	if !errors.As(err, &later) || !wasArchived(later.Why) {
		t.Errorf("got %v, want that the task is put back as one that is to be replayed", err)
	}
	equal(t, "generation", f.record(a).Generation, 1)
}
