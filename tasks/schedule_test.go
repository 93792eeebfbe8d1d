package tasks_test

import (
	"backstop/tasks"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"pgregory.net/rapid"
)

func TestIsFailure(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"a failed call is one":                {&tasks.RetryError{}, true},
		"a wait for a slot is none":           {&tasks.SnoozeError{}, false},
		"a wrapped wait is none":              {fmt.Errorf("lead x: %w", &tasks.SnoozeError{}), false},
		"an exhausted lead is one":            {fmt.Errorf("exhausted: %w", asynq.SkipRetry), true},
		"an error that nobody foresaw is one": {errors.New("panic"), true},
	} {
		if got := tasks.IsFailure(test.err); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// second0 is a whole second.
var second0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(d time.Duration) time.Time { return second0.Add(d) }

// asynqSecond is when asynq v0.26.0 brings back a task whose RetryDelayFunc said d
// at the time t: it adds d to a time read a little later, keeps the whole seconds
// (processor.go, retry; rdb.go, Retry) and looks for due ones by whole seconds.
func asynqSecond(t time.Time, d, later time.Duration) time.Time {
	return t.Add(later).Add(d).Truncate(time.Second)
}

func TestRetryDelayLeadsToAWholeSecond(t *testing.T) {
	for name, test := range map[string]struct{ now, due, want time.Duration }{
		"due on a second":                            {0, 2 * time.Second, 2 * time.Second},
		"due soon after one: a little early":         {0, 1500 * time.Millisecond, time.Second},
		"due later after one: a little late":         {0, 1501 * time.Millisecond, 2 * time.Second},
		"due now":                                    {300 * time.Millisecond, 300 * time.Millisecond, 0},
		"due within this second":                     {300 * time.Millisecond, 400 * time.Millisecond, 0},
		"due in the past":                            {10 * time.Second, 2 * time.Second, 2 * time.Second},
		"the schedule's first second, asked at .700": {700 * time.Millisecond, 1700 * time.Millisecond, 2 * time.Second},
	} {
		delay := tasks.RetryDelay(func() time.Time { return at(test.now) })(0, &tasks.SnoozeError{Until: at(test.due)}, nil)
		if got := asynqSecond(at(test.now), delay, 0); !got.Equal(at(test.want)) {
			t.Errorf("%s: after %s", name, got.Sub(second0))
		}
	}
}

func TestRetryDelayIsNeverMuchTooEarlyNorLate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := at(time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(rt, "now")))
		due := now.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(rt, "due in")))
		later := time.Duration(rapid.Int64Range(0, int64(900*time.Millisecond)).Draw(rt, "asynq's clock is read later by"))
		var putBack error = &tasks.SnoozeError{Until: due}
		if rapid.Bool().Draw(rt, "failure") {
			putBack = &tasks.RetryError{At: due}
		}
		err := fmt.Errorf("wrapped: %w", putBack)
		back := asynqSecond(now, tasks.RetryDelay(func() time.Time { return now })(rapid.IntRange(0, 100).Draw(rt, "n"), err, nil), later)
		if early := due.Sub(back); early > tasks.MaxEarly {
			rt.Fatalf("%s early", early)
		}
		if late := back.Sub(due); late > 500*time.Millisecond {
			rt.Fatalf("%s late", late)
		}
	})
}

func TestRetryDelayOfAnUnforeseenErrorGrowsToHalfAMinute(t *testing.T) {
	delay := tasks.RetryDelay(time.Now)
	for n, want := range map[int]time.Duration{0: 1, 1: 2, 2: 4, 3: 8, 4: 16, 5: 30, 6: 30, 100: 30, 1 << 20: 30} {
		if got := delay(n, errors.New("panic"), nil); got != want*time.Second {
			t.Errorf("after %d tries: %s", n, got)
		}
	}
}
