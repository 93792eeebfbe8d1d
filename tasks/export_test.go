package tasks

import (
	"context"
	"errors"

	"github.com/hibiken/asynq"

	"backstop/chain"
	"backstop/lead"
	"backstop/ledger"
	"backstop/queue"
)

// FreezeAfter is the longest gap after which a run goes on.
const FreezeAfter = freezeAfter

// Run gives the context of one run.
func (d *FreezeDetector) Run(ctx context.Context) (context.Context, context.CancelFunc) {
	return d.guard(ctx)
}

// Beat notes that the process runs.
func (d *FreezeDetector) Beat() bool { return d.beat() }

// A Job is one run of one task, in the hands of a test.
type Job struct {
	*job
	handlers *handlers
}

// NewJob is a run of a lead that nobody has worked on yet.
func NewJob(d Deps, p queue.Payload, rec ledger.Record, progress *chain.Progress) *Job {
	return &Job{&job{payload: p, record: rec, progress: progress, log: d.Log}, newHandlers(d)}
}

// SaveAttempt stores the progress.
func (j *Job) SaveAttempt(ctx context.Context, trail []lead.TrailEntry) error {
	return j.handlers.saveAttempt(ctx, j.job, trail)
}

// Settle writes the outcome.
func (j *Job) Settle(ctx context.Context, s ledger.Settlement) error {
	return j.handlers.settle(ctx, j.job, s)
}

// Suppress settles the lead of a person who opted out.
func (j *Job) Suppress(ctx context.Context, trail []lead.TrailEntry) error {
	return j.handlers.suppress(ctx, j.job, trail)
}

// Hooks are those of a walk.
func (j *Job) Hooks() chain.Hooks { return j.handlers.hooks(j.job) }

// Interrupted is what becomes of a walk's error.
func Interrupted(err error) error { return newHandlers(Deps{}).interrupted(err) }

// ReplayByHand replays an archived task that somebody runs.
func ReplayByHand(ctx context.Context, d Deps, rec ledger.Record, p queue.Payload) (bool, error) {
	return newHandlers(d).replayByHand(ctx, rec, p)
}

// ReplayUnstarted is what asynqmon shows of a replay by hand that is tried again.
const ReplayUnstarted = replayUnstarted

// SettledAlready is a task of type lead:enrich of a lead that has its outcome.
func SettledAlready(ctx context.Context, d Deps, rec ledger.Record, p queue.Payload) error {
	return newHandlers(d).settledAlready(ctx, asynq.NewTask(queue.TypeEnrich, nil), rec, p, d.Log)
}

// The schedule.
var (
	RetryDelay = retryDelay
	IsFailure  = isFailure
)

// IsSnooze reports whether an error puts a task back without a failure.
func IsSnooze(err error) bool {
	var s *SnoozeError
	return errors.As(err, &s)
}

// MaxEarly is the longest that a handler waits for a task's time.
const MaxEarly = maxEarly

// WasArchived reports whether a task's last error is that of an archived one.
var WasArchived = wasArchived
