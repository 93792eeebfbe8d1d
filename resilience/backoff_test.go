package resilience_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"backstop/resilience"
)

func TestDelaysOfTheDefaultSchedule(t *testing.T) {
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second} {
		if got := resilience.DefaultRetry.Delay(n); got != want {
			t.Errorf("delay %d is %s, want %s", n, got, want)
		}
	}
}

func TestDelaysGrowUpToTheBudget(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := resilience.Retry{
			Max:    rapid.IntRange(0, 10).Draw(rt, "max"),
			Base:   time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(rt, "base")),
			Factor: rapid.Float64Range(1, 1e9).Draw(rt, "factor"),
			Budget: time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(rt, "budget")),
		}
		before := time.Duration(0)
		for n := 1; n < 200; n++ {
			d := r.Delay(n)
			if d < before || d > r.Budget {
				rt.Fatalf("delay %d is %s after %s, budget %s", n, d, before, r.Budget)
			}
			before = d
		}
	})
}
