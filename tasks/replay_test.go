package tasks

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/testkit"
)

// outage fails each person's first run, with the retry of quick, and no more.
var outage = faults(
	sandbox.Fault{Provider: "clearbit", Status: 503, Calls: 2},
	sandbox.Fault{Provider: "hunter", Status: 503, Calls: 1},
)

// partials is what replays mostly pick.
var partials = ledger.Filter{Statuses: []lead.Status{lead.StatusPartial}}

func (f *fleet) replayer() Replayer {
	return Replayer{Ledger: f.ledger, Queue: f.queue, Log: f.deps.Log}
}

// afterOutage starts a replica and returns leads whose outcome is partial and whose
// task is archived: at most two, so that no circuit opens.
func afterOutage(t *testing.T, n int) (*fleet, []ledger.Accepted) {
	t.Helper()
	f := newFleet(t, outage)
	f.deps.Chain.Retry = quick
	f.start()
	accepted := f.put(emails(n)...)
	for _, a := range accepted {
		equal(t, "status", f.outcome(a).Status, lead.StatusPartial)
		f.becomes(a, TaskStates{Enrich: "archived"})
	}
	return f, accepted
}

// settlePartial accepts leads and settles them without any run.
func (f *fleet) settlePartial(n int) []ledger.Accepted {
	f.t.Helper()
	accepted, err := f.ledger.Accept(f.t.Context(), leads(f.t, emails(n)...))
	noError(f.t, err)
	for _, a := range accepted {
		_, err := f.ledger.Settle(f.t.Context(), ledger.Settlement{LeadID: a.LeadID, Generation: 1, Status: lead.StatusPartial})
		noError(f.t, err)
	}
	return accepted
}

func (f *fleet) record(a ledger.Accepted) ledger.Record {
	f.t.Helper()
	rec, err := f.ledger.Get(f.t.Context(), a.LeadID)
	noError(f.t, err)
	return rec
}

// raised waits until the lead's outcome is better than partial.
func (f *fleet) raised(a ledger.Accepted) lead.Outcome {
	f.t.Helper()
	testkit.Eventually(f.t, soon, "the outcome rises", func() bool { return f.outcome(a).Status == lead.StatusEnriched })
	return f.outcome(a)
}

func TestReplayRaisesPartialOutcomesAndEmptiesTheArchive(t *testing.T) {
	t.Parallel()
	f, accepted := afterOutage(t, 2)
	var shown []string
	sum, err := f.replayer().Preview(t.Context(), partials, func(id string) { shown = append(shown, id) })
	noError(t, err)
	equal(t, "preview", sum, Replay{Matched: 2})
	equal(t, "leads shown", len(shown), 2)
	for _, a := range accepted {
		equal(t, "generation after a preview", f.record(a).Generation, 1)
	}

	sum, err = f.replayer().Run(t.Context(), partials)
	noError(t, err)
	equal(t, "replay", sum, Replay{Matched: 2, Replayed: 2})
	for _, a := range accepted {
		o := f.raised(a)
		equal(t, "trail", classes(o.Trail), []string{
			"clearbit transient", "clearbit transient", "hunter transient", "fallback fallback", "directory no_data", "clearbit ok",
		})
		f.becomes(a, TaskStates{})
		a.Generation = 2
		f.becomes(a, TaskStates{})
		if rec := f.record(a); rec.EnqueuedAt.IsZero() || rec.Generation != 2 {
			t.Errorf("the lead stands as %+v", rec)
		}
		if log := f.log.String(); !strings.Contains(log, `"request_id":"`+a.RequestID+`","lead_id":"`+a.LeadID+`","event":"replayed"`) {
			t.Errorf("the log does not say that %s was replayed", a.LeadID)
		}
	}
	again, err := f.replayer().Run(t.Context(), partials)
	noError(t, err)
	equal(t, "a second replay", again, Replay{})
	equal(t, "audit", f.audit(time.Hour), Books{Accepted: 2, Settled: SettledBook{Enriched: 2}})
}

func TestReplayLeavesLeadsThatAreUnderWayAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.settlePartial(5)
	const replays = 4
	var wg sync.WaitGroup
	sums := make([]Replay, replays)
	for i := range replays {
		wg.Go(func() {
			var err error
			if sums[i], err = f.replayer().Run(t.Context(), partials); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	replayed := 0
	for _, s := range sums {
		replayed += s.Replayed
		equal(t, "matched", s.Replayed+s.Skipped, s.Matched)
	}
	equal(t, "replayed by all at once", replayed, 5)
	sum, err := f.replayer().Run(t.Context(), partials) // still open: no worker runs
	noError(t, err)
	equal(t, "while they are under way", sum, Replay{Matched: 5, Skipped: 5})
}

func TestSuppressedLeadsAreNeverReplayed(t *testing.T) {
	l, err := ledger.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"), ledger.Options{})
	noError(t, err)
	defer func() { noError(t, l.Close()) }()
	for _, statuses := range [][]lead.Status{nil, {lead.StatusPartial, lead.StatusSuppressed}} {
		r := Replayer{Ledger: l, Log: zerolog.Nop()}
		if _, err := r.Run(t.Context(), ledger.Filter{Statuses: statuses}); !errors.Is(err, ErrNoReplay) {
			t.Errorf("%v: got %v, want ErrNoReplay", statuses, err)
		}
	}
}

// An interrupt ends a replay between two batches. What it says is then exact, and
// every lead that it has begun has its task.
func TestInterruptedReplayLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	const n = 12
	accepted := f.settlePartial(n)
	ctx, cancel := context.WithCancel(t.Context())
	waits := 0
	r := f.replayer()
	r.Rate = 10 // batches of two
	r.Wait = func(ctx context.Context, _ time.Duration) error {
		if waits++; waits == 3 {
			cancel()
		}
		return context.Cause(ctx)
	}
	r.Now = func() time.Time { return time.Unix(1, 0) }
	sum, err := r.Run(ctx, partials)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	equal(t, "replay", sum, Replay{Matched: n, Replayed: 6})
	begun := 0
	for _, a := range accepted {
		if f.record(a).Generation == 1 {
			continue
		}
		begun++
		a.Generation = 2
		equal(t, "its task", f.states(a), TaskStates{Enrich: "pending"})
	}
	equal(t, "begun", begun, sum.Replayed)
	rest, err := f.replayer().Run(t.Context(), partials)
	noError(t, err)
	equal(t, "the rest", rest, Replay{Matched: n, Replayed: 6, Skipped: 6})
}

func TestReplayKeepsToItsRate(t *testing.T) {
	for _, test := range []struct {
		name  string
		rate  float64
		n     int
		batch int
		took  time.Duration // until the last batch goes
	}{
		{"five a second", 5, 20, 1, 19 * time.Second / 5},
		{"one in two seconds", 0.5, 3, 1, 4 * time.Second},
		{"many a second, in batches", 100, 1000, 20, 9800 * time.Millisecond},
		{"more than a batch may have", 10_000, 1000, 100, 90 * time.Millisecond},
		{"no limit", 0, 1000, 100, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			began := now
			p := Replayer{Rate: test.rate, Now: func() time.Time { return now }, Wait: func(_ context.Context, d time.Duration) error {
				now = now.Add(d)
				return nil
			}}.pace()
			equal(t, "batch", p.batch(), test.batch)
			for done := 0; done < test.n; done += test.batch {
				noError(t, p.wait(t.Context(), test.batch))
			}
			if off := math.Abs(float64(now.Sub(began) - test.took)); off > float64(time.Microsecond) {
				t.Errorf("the last batch goes after %s, want %s", now.Sub(began), test.took)
			}
		})
	}
}

func TestReplayThatWasHeldUpMakesNoBurst(t *testing.T) {
	now := time.Unix(1000, 0)
	var waits []time.Duration
	p := Replayer{Rate: 1, Now: func() time.Time { return now }, Wait: func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		now = now.Add(d)
		return nil
	}}.pace()
	noError(t, p.wait(t.Context(), 1))
	now = now.Add(time.Hour) // Redis hung
	for range 3 {
		noError(t, p.wait(t.Context(), 1))
	}
	equal(t, "waits", waits, []time.Duration{time.Second, time.Second})
}

func TestLeadsReplayedWhileRedisIsDownAreQueuedByAWorker(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	accepted := f.settlePartial(3)
	f.redis.Kill()
	sum, err := f.replayer().Run(t.Context(), partials)
	if err == nil {
		t.Error("no error although Redis is down")
	}
	equal(t, "replay", sum, Replay{Matched: 3, Replayed: 3})
	f.restart()
	f.reconcile()
	f.start()
	for _, a := range accepted {
		f.raised(a)
	}
}
