package testkit

import (
	"testing"
	"time"
)

// pollEvery is the pause between two looks at a condition.
const pollEvery = 5 * time.Millisecond

// Eventually waits until holds returns true and fails the test when it has not
// within that time. It is for what another process does, of which no signal can
// be had; holds is called from the test's goroutine, every few milliseconds.
func Eventually(tb testing.TB, within time.Duration, what string, holds func() bool) {
	tb.Helper()
	if !poll(within, holds) {
		tb.Fatalf("%s: not within %v", what, within)
	}
}

// poll calls holds until it returns true, and reports whether it did in time. It
// is called at least once, and once more when the time is up.
func poll(within time.Duration, holds func() bool) bool {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if holds() {
			return true
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return holds()
		}
	}
}
