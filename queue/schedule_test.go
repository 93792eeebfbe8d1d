package queue_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"backstop/queue"
)

func TestNextSecondIsNeverEarly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		due := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(rt, "due")))
		got := queue.NextSecond(due)
		if got.Before(due) || got.Sub(due) >= time.Second || got.Nanosecond() != 0 {
			rt.Fatalf("%s for %s", got, due)
		}
	})
}
