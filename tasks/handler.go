package tasks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/rs/zerolog"

	"backstop/lead"
	"backstop/ledger"
	"backstop/resilience"
)

// Deps are what the handlers work with.
type Deps struct {
	Ledger   *ledger.Ledger
	Queue    *Queue
	Chain    *resilience.Chain // asked by lead:enrich
	Fallback *resilience.Chain // asked by lead:fallback
	Log      zerolog.Logger
	Observer Observer         // nil: nobody
	Now      func() time.Time // nil: time.Now

	// ForgetAnswers removes the kept answers about a person; see [Eraser]. It may be
	// nil: none are kept.
	ForgetAnswers func(ctx context.Context, subject string) (int, error)
	Retention     Retention
}

// How long a handler holds a lead whose ledger is away before it puts the task
// back. Held leads fill the worker's slots, so that it takes no more of them;
// asynq keeps their leases alive meanwhile. Both fit into a task's time-out.
const (
	readTimeout  = 45 * time.Second
	writeTimeout = 45 * time.Second
)

// handlers run the two kinds of task.
type handlers struct {
	Deps
	pulse   *pulse
	suspect chan struct{} // holds one: the lead that runs alone
}

func newHandlers(d Deps) *handlers {
	if d.Observer == nil {
		d.Observer = nobody{}
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	h := &handlers{Deps: d, pulse: newPulse(d.Now), suspect: make(chan struct{}, 1)}
	h.Chain, h.Fallback = h.watched(d.Chain), h.watched(d.Fallback)
	return h
}

// watched is a copy of the chain that reports its clients' panics to h and begins
// no call in a process that was stopped. The original stays as it is: other
// replicas of this process may be using it.
func (h *handlers) watched(c *resilience.Chain) *resilience.Chain {
	own := *c
	own.OnPanic = h.panicked
	own.Gate = guardedGate{Gate: c.Gate, pulse: h.pulse}
	return &own
}

// A job is one run of one task.
type job struct {
	payload  Payload
	record   ledger.Record
	progress *resilience.Progress
	log      zerolog.Logger

	suppressed bool // once it is settled: the person asked not to be processed
}

// open reads the task and the ledger. A nil job without an error means that there
// is nothing to do.
func (h *handlers) open(ctx context.Context, t *asynq.Task) (*job, error) {
	p, err := DecodePayload(t.Payload())
	if err != nil {
		h.Log.Error().Str("event", "undecodable").Str("type", t.Type()).Msg("a task's payload cannot be read; it is archived")
		return nil, fmt.Errorf("%w: %w", err, asynq.SkipRetry)
	}
	log := h.Log.With().Str("request_id", p.RequestID).Str("lead_id", p.LeadID).Logger()
	rec, err := h.read(ctx, p.LeadID, log)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		// Erased meanwhile, or the task of another ledger: nothing is owed to it.
		log.Warn().Str("event", "unknown").Msg("the ledger does not know this lead; its task is dropped")
		return nil, nil
	case err != nil:
		return nil, err
	case !rec.Live() || rec.Generation != p.Generation:
		return nil, h.settledAlready(ctx, t, rec, p, log)
	}
	return &job{payload: p, record: rec, progress: h.progressOf(rec, log), log: log}, nil
}

// progressOf is what was done for a lead so far. Where it cannot be read nobody
// knows which calls were made: the chain has ended then, and the fallback can do
// without.
func (h *handlers) progressOf(rec ledger.Record, log zerolog.Logger) *resilience.Progress {
	p, err := resilience.LoadProgress(rec.Progress, rec.Lead, rec.Generation, h.Now())
	if err != nil {
		log.Error().Err(err).Str("event", "progress").Msg("what was done for this lead cannot be read; it goes to the fallback")
		p = resilience.NewProgress(rec.Lead, rec.Generation, h.Now())
		p.Ended = resilience.KindExhausted
	}
	p.QueuedAt = rec.EnqueuedAt
	return p
}

// settledAlready is a task of a lead that has its outcome: the acknowledgement of
// an earlier run was lost, or an operator runs an archived task once more.
func (h *handlers) settledAlready(ctx context.Context, t *asynq.Task, rec ledger.Record, p Payload, log zerolog.Logger) error {
	if t.Type() == TypeEnrich {
		replayed, err := h.replayByHand(ctx, t, rec, p)
		if err != nil {
			log.Warn().Err(err).Str("event", "replay").Msg("the lead could not be replayed; trying again")
			return &Later{At: h.Now().Add(2 * time.Second), Why: replayUnstarted}
		}
		if replayed {
			return nil
		}
	}
	if rec.Status == lead.StatusSuppressed {
		return h.tracesAgain(ctx, rec, p.Lead, log)
	}
	log.Debug().Str("event", "settled_already").Msg("nothing to do")
	return nil
}

// read reads a lead, and waits while the ledger is away.
func (h *handlers) read(ctx context.Context, leadID string, log zerolog.Logger) (rec ledger.Record, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err = h.whileAway(ctx, func(ctx context.Context) (err error) {
		rec, err = h.Ledger.Get(ctx, leadID)
		return err
	})
	if err == nil || errors.Is(err, ledger.ErrNotFound) {
		return rec, err
	}
	log.Warn().Err(err).Str("event", "ledger").Msg("the ledger cannot be read; the lead is put back")
	return rec, &Later{At: h.Now().Add(2 * time.Second), Why: "the ledger cannot be read"}
}

// whileAway repeats what needs the ledger as long as that is away and ctx lasts.
func (h *handlers) whileAway(ctx context.Context, op func(context.Context) error) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := op(ctx)
		if err == nil || !ledger.IsAway(err) || ctx.Err() != nil {
			return err
		}
		if rest(ctx, wait) != nil {
			return err // of the ledger, which says more
		}
	}
}

// record stores the progress and the new part of the trail. A run that is fenced,
// because the lead went on without it, gets [ledger.ErrStale].
func (h *handlers) record(ctx context.Context, j *job, trail []lead.TrailEntry) error {
	b, err := j.progress.Encode()
	if err != nil {
		return err
	}
	return h.write(ctx, j, func(ctx context.Context) error {
		version, err := h.Ledger.Record(ctx, ledger.Attempt{
			LeadID: j.record.LeadID, Generation: j.record.Generation, StartedAt: j.progress.StartedAt,
			Retries: j.progress.Retries, Progress: b, Trail: trail, Version: j.record.Version, Found: j.progress.Found,
		})
		if err == nil {
			j.record.Version = version
		}
		return err
	})
}

// write makes a write, and repeats it while the ledger is away. It goes on when
// ctx ends: what a provider answered must not be lost to a shutdown.
func (h *handlers) write(ctx context.Context, j *job, op func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err := h.whileAway(ctx, op)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrNotFound):
		j.log.Info().Str("event", "erased").Msg("the lead was erased meanwhile; what this run found is dropped")
		return err
	case errors.Is(err, ledger.ErrStale):
		j.log.Warn().Str("event", "fenced").Msg("another run of this lead has gone on meanwhile; what this one found is in the trail only")
		return err
	}
	j.log.Error().Err(err).Str("event", "ledger").Msg("the ledger cannot be written; the lead is put back")
	return &Later{At: h.Now().Add(5 * time.Second), Why: "the ledger cannot be written"}
}

// hooks log and count what happens in a walk, and arm the fallback.
func (h *handlers) hooks(j *job) resilience.Hooks {
	return resilience.Hooks{
		Trail: func(e lead.TrailEntry) { h.trail(j, e) },
		Arm: func(ctx context.Context, deadline time.Time) bool {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
			defer cancel()
			if _, err := h.Queue.ArmFallback(ctx, j.payload, deadline); err != nil {
				// The reconciler finds the lead if its task is lost as well.
				j.log.Warn().Err(err).Str("event", "arm").Msg("the fallback could not be scheduled")
				return false
			}
			return true
		},
	}
}

// trail logs and counts one entry of a trail.
func (h *handlers) trail(j *job, e lead.TrailEntry) {
	h.Observer.Trail(e)
	event, level := "call", zerolog.DebugLevel
	switch e.Class {
	case lead.ClassSkip:
		event, level = "skip", zerolog.InfoLevel
	case lead.ClassFallback:
		event, level = "fallback", zerolog.InfoLevel
	case lead.ClassTransient, lead.ClassRateLimited:
		level = zerolog.InfoLevel
	case lead.ClassAuth, lead.ClassQuotaExhausted, lead.ClassOurBug:
		level = zerolog.ErrorLevel
	}
	j.log.WithLevel(level).Str("event", event).Str("provider", e.Provider).Str("class", string(e.Class)).
		Int("status", e.Status).Int("attempt", e.Attempt).Str("detail", e.Detail).Int64("ms", e.Millis).Send()
}

func (h *handlers) panicked(provider string, err *resilience.PanicError) {
	h.Observer.Panicked(provider)
	// The value may quote what the client was working on; the stack does not.
	h.Log.Error().Str("event", "panic").Str("provider", provider).Type("value", err.Value).
		Bytes("stack", err.Stack).Msg("a provider's client panicked")
}
