package tasks

import (
	"errors"
	"math"
	"time"

	"github.com/hibiken/asynq"
)

// A Later is the error of a handler that wants its task back at a given time.
// Failure tells a failed call, which asynq then shows as a failed try, from a
// snooze, which it does not.
type Later struct {
	At      time.Time
	Failure bool
	Why     string // no personal data: asynqmon shows it
}

func (e *Later) Error() string { return e.Why }

// isFailure tells asynq which errors are failed tries.
func isFailure(err error) bool {
	var later *Later
	return !errors.As(err, &later) || later.Failure
}

// maxEarly is the longest that a handler holds its slot until a task is due that
// asynq brought back early.
const maxEarly = 500 * time.Millisecond

// retryDelay is asynq's RetryDelayFunc: the time that a [Later] asks for. asynq
// schedules by whole seconds and cuts the rest off, which would make a retry "in
// 1 s" come after 0.1 s. So the delay leads exactly to a whole second: the one
// before the due time when the handler can wait out the rest (see maxEarly),
// else the one after.
func retryDelay(now func() time.Time) asynq.RetryDelayFunc {
	return func(n int, err error, _ *asynq.Task) time.Duration {
		t := now()
		var later *Later
		if !errors.As(err, &later) {
			// An error of our own, such as a panic: not in a tight loop.
			return time.Duration(math.Min(float64(uint64(1)<<min(n, 5)), 30)) * time.Second
		}
		return wholeSecond(later.At).Sub(t)
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

// nextSecond is the first whole second that is not before t, for tasks that must
// not run early and have nobody waiting in them.
func nextSecond(t time.Time) time.Time {
	s := t.Truncate(time.Second)
	if s.Before(t) {
		s = s.Add(time.Second)
	}
	return s
}
