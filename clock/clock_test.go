package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"backstop/clock"
)

func TestSleepEndsWithItsTimeOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := clock.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("it slept for %s: %v", time.Since(began), err)
		}
		began = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := clock.Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("it slept for %s: %v", time.Since(began), err)
		}
		if err := clock.Sleep(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a time to sleep it ignores its context: %v", err)
		}
	})
}

func TestEveryCallsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		n := 0
		clock.Every(ctx, time.Second, func() { n++ })
		if n != 3 {
			t.Errorf("it called %d times in 3.5 s", n)
		}
	})
}
