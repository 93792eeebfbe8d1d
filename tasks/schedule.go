package tasks

import (
	"errors"
	"math"
	"time"

	"github.com/hibiken/asynq"
)

// A SnoozeError puts a task back until a time without a failure: its lead waits for a
// slot, a pause, a pending answer, or for something of ours.
type SnoozeError struct {
	Until  time.Time
	Reason string // no personal data: asynqmon shows it
}

func (e *SnoozeError) Error() string { return e.Reason }

// snoozed puts a task back for d.
func (h *handlers) snoozed(d time.Duration, reason string) error {
	return &SnoozeError{Until: h.Now().Add(d), Reason: reason}
}

// A RetryError puts a task back after a failed call, which asynq shows as a failed try.
type RetryError struct {
	At     time.Time
	Reason string // no personal data: asynqmon shows it
}

func (e *RetryError) Error() string { return e.Reason }

// isFailure tells asynq which errors are failed tries.
func isFailure(err error) bool {
	var snooze *SnoozeError
	return !errors.As(err, &snooze)
}

// dueAt is when a task that ended with the error is to come back.
func dueAt(err error) (time.Time, bool) {
	var snooze *SnoozeError
	var retry *RetryError
	switch {
	case errors.As(err, &snooze):
		return snooze.Until, true
	case errors.As(err, &retry):
		return retry.At, true
	}
	return time.Time{}, false
}

// maxEarly is the longest that a handler holds its slot until a task is due that
// asynq brought back early.
const maxEarly = 500 * time.Millisecond

// retryDelay is asynq's RetryDelayFunc: the time that a [SnoozeError] or [RetryError]
// asks for. asynq
// schedules by whole seconds and cuts the rest off, which would make a retry "in
// 1 s" come after 0.1 s. So the delay leads exactly to a whole second: the one
// before the due time when the handler can wait out the rest (see maxEarly),
// else the one after.
func retryDelay(now func() time.Time) asynq.RetryDelayFunc {
	return func(n int, err error, _ *asynq.Task) time.Duration {
		t := now()
		due, ok := dueAt(err)
		if !ok {
			// An error of our own, such as a panic: not in a tight loop.
			return time.Duration(math.Min(float64(uint64(1)<<min(n, 5)), 30)) * time.Second
		}
		return wholeSecond(due).Sub(t)
	}
}

// wholeSecond is the whole second at which asynq is to bring back a task that is
// due at t.
func wholeSecond(t time.Time) time.Time {
	s := t.Truncate(time.Second)
	if t.Sub(s) > maxEarly {
		s = s.Add(time.Second)
	}
	// The delay is added to a slightly later "now"; without this margin nothing
	// changes, with a clock that is read in between it still cuts to s.
	return s.Add(time.Millisecond)
}
