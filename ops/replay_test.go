package ops_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"backstop/accept"
	"backstop/lead"
	"backstop/ledger"
	"backstop/ops"
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/testkit"
	"backstop/testkit/replicas"

	"github.com/rs/zerolog"
)

// partials is what replays mostly pick.
var partials = ledger.Filter{Statuses: []lead.Status{lead.StatusPartial}}

func (f *fleet) replayer() ops.Replayer {
	return ops.Replayer{Ledger: f.Ledger, Enqueuer: f.Enqueuer()}
}

// settlePartial accepts leads and settles them without any run.
func (f *fleet) settlePartial(n int) []ledger.Accepted {
	f.T.Helper()
	accepted, err := f.Ledger.Accept(f.T.Context(), replicas.Leads(f.T, replicas.Emails(n)...))
	testkit.NoError(f.T, err)
	for _, a := range accepted {
		_, err := f.Ledger.Settle(f.T.Context(), ledger.Settlement{LeadID: a.LeadID, Generation: 1, Status: lead.StatusPartial})
		testkit.NoError(f.T, err)
	}
	return accepted
}

func TestReplayRaisesPartialOutcomesAndEmptiesTheArchive(t *testing.T) {
	t.Parallel()
	f, accepted := afterOutage(t, 2)
	var shown []string
	sum, err := f.replayer().Preview(t.Context(), partials, func(id string) { shown = append(shown, id) })
	testkit.NoError(t, err)
	testkit.Equal(t, "preview", sum, ops.Replay{Matched: 2})
	testkit.Equal(t, "leads shown", len(shown), 2)
	for _, a := range accepted {
		testkit.Equal(t, "generation after a preview", f.Record(a).Generation, 1)
	}

	sum, err = f.replayer().Run(t.Context(), partials)
	testkit.NoError(t, err)
	testkit.Equal(t, "replay", sum, ops.Replay{Matched: 2, Replayed: 2})
	for _, a := range accepted {
		o := f.Raised(a)
		testkit.Equal(t, "trail", replicas.Classes(o.Trail), []string{
			"clearbit transient", "clearbit transient", "hunter transient", "fallback fallback", "directory no_data", "clearbit ok",
		})
		f.Becomes(a, queue.States{})
		a.Generation = 2
		f.Becomes(a, queue.States{})
		if rec := f.Record(a); rec.EnqueuedAt.IsZero() || rec.Generation != 2 {
			t.Errorf("the lead stands as %+v", rec)
		}
		if log := f.Log.String(); !strings.Contains(log, `"request_id":"`+a.RequestID+`","lead_id":"`+a.LeadID+`","event":"replayed"`) {
			t.Errorf("the log does not say that %s was replayed", a.LeadID)
		}
	}
	again, err := f.replayer().Run(t.Context(), partials)
	testkit.NoError(t, err)
	testkit.Equal(t, "a second replay", again, ops.Replay{})
	testkit.Equal(t, "audit", f.Audit(time.Hour), ops.AuditCounts{Accepted: 2, Settled: ops.SettledCounts{Enriched: 2}})
}

func TestReplayLeavesLeadsThatAreUnderWayAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	f.settlePartial(5)
	const replays = 4
	var wg sync.WaitGroup
	sums := make([]ops.Replay, replays)
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
		testkit.Equal(t, "matched", s.Replayed+s.Skipped, s.Matched)
	}
	testkit.Equal(t, "replayed by all at once", replayed, 5)
	sum, err := f.replayer().Run(t.Context(), partials) // still open: no worker runs
	testkit.NoError(t, err)
	testkit.Equal(t, "while they are under way", sum, ops.Replay{Matched: 5, Skipped: 5})
}

func TestSuppressedLeadsAreNeverReplayed(t *testing.T) {
	l, err := ledger.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"), ledger.Options{})
	testkit.NoError(t, err)
	defer func() { testkit.NoError(t, l.Close()) }()
	for _, statuses := range [][]lead.Status{nil, {lead.StatusPartial, lead.StatusSuppressed}} {
		r := ops.Replayer{Ledger: l}
		if _, err := r.Run(t.Context(), ledger.Filter{Statuses: statuses}); !errors.Is(err, ops.ErrNoReplay) {
			t.Errorf("%v: got %v, want ErrNoReplay", statuses, err)
		}
	}
}

// replayedLines calls a function when a log has so many lines of leads that were replayed.
type replayedLines struct {
	left int
	then func()
}

func (l *replayedLines) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"event":"replayed"`)) {
		if l.left--; l.left == 0 {
			l.then()
		}
	}
	return len(line), nil
}

// An interrupt ends a replay between two batches. What it says is then exact, and
// every lead that it has begun has its task.
func TestInterruptedReplayLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	const n = 12
	accepted := f.settlePartial(n)
	ctx, cancel := context.WithCancel(t.Context())
	log := zerolog.New(&replayedLines{left: 6, then: cancel}) // two are replayed at a time
	r := ops.Replayer{Ledger: f.Ledger, Enqueuer: accept.New(f.Ledger, f.Queue, log), Rate: 10}
	sum, err := r.Run(ctx, partials)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	testkit.Equal(t, "replay", sum, ops.Replay{Matched: n, Replayed: 6})
	begun := 0
	for _, a := range accepted {
		if f.Record(a).Generation == 1 {
			continue
		}
		begun++
		a.Generation = 2
		testkit.Equal(t, "its task", f.States(a), queue.States{Enrich: "pending"})
	}
	testkit.Equal(t, "begun", begun, sum.Replayed)
	rest, err := f.replayer().Run(t.Context(), partials)
	testkit.NoError(t, err)
	testkit.Equal(t, "the rest", rest, ops.Replay{Matched: n, Replayed: 6, Skipped: 6})
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
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				p := ops.Pace(ops.Replayer{Rate: test.rate})
				testkit.Equal(t, "batch", p.Burst(), test.batch)
				for done := 0; done < test.n; done += test.batch {
					testkit.NoError(t, p.WaitN(t.Context(), test.batch))
				}
				if off := math.Abs(float64(time.Since(began) - test.took)); off > float64(time.Microsecond) {
					t.Errorf("the last batch goes after %s, want %s", time.Since(began), test.took)
				}
			})
		})
	}
}

func TestReplayThatWasHeldUpMakesNoBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ops.Pace(ops.Replayer{Rate: 1})
		testkit.NoError(t, p.WaitN(t.Context(), 1))
		time.Sleep(time.Hour) // Redis hung
		var waits []time.Duration
		for range 3 {
			began := time.Now()
			testkit.NoError(t, p.WaitN(t.Context(), 1))
			waits = append(waits, time.Since(began).Round(time.Microsecond))
		}
		testkit.Equal(t, "waits", waits, []time.Duration{0, time.Second, time.Second})
	})
}

func TestLeadsReplayedWhileRedisIsDownAreQueuedByAWorker(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	accepted := f.settlePartial(3)
	f.Redis.Kill()
	sum, err := f.replayer().Run(t.Context(), partials)
	if err == nil {
		t.Error("no error although Redis is down")
	}
	testkit.Equal(t, "replay", sum, ops.Replay{Matched: 3, Replayed: 3})
	f.Restart()
	f.Reconcile()
	f.Start()
	for _, a := range accepted {
		f.Raised(a)
	}
}
