package resilience_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"backstop/lead"
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

func TestStoredProgress(t *testing.T) {
	now := time.Now()
	load := func(s string, generation int) *resilience.Progress {
		t.Helper()
		p, err := resilience.LoadProgress([]byte(s), someLead, generation, now)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, p := range map[string]*resilience.Progress{
		"none":                      load("", 2),
		"null":                      load("null", 2),
		"one of an earlier run":     load(`{"generation":1,"attempt":7,"retries":3,"ended":"exhausted"}`, 2),
		"one that a later run left": load(`{"generation":3,"attempt":7}`, 2),
	} {
		if p.Generation != 2 || p.Attempt != 0 || p.Retries != 0 || p.Ended != "" || p.Facts.Profile[lead.PersonEmail] != someLead.Email {
			t.Errorf("%s: %+v, want a new one that knows what the source knows", name, p)
		}
	}
	if p := load(`{"generation":2,"attempt":7}`, 2); p.Attempt != 7 {
		t.Errorf("its own: %+v", p)
	}
	for _, damaged := range []string{"{", `{"generation":"2"}`, `[]`, `{"generation":2,"failed_at":"soon"}`} {
		if _, err := resilience.LoadProgress([]byte(damaged), someLead, 2, now); err == nil {
			t.Errorf("%s is loaded", damaged)
		}
	}
}
