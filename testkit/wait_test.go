package testkit

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestEventuallyLooksUntilItHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, looks := time.Now(), 0
		Eventually(t, time.Minute, "three looks", func() bool { looks++; return looks == 3 })
		if took := time.Since(start); took != 2*pollEvery {
			t.Errorf("three looks took %v, want %v", took, 2*pollEvery)
		}
	})
}

func TestEventuallyFailsWhenTheTimeIsUp(t *testing.T) {
	t.Parallel()
	said := failure(t, func(tb testing.TB) {
		Eventually(tb, time.Millisecond, "pigs fly", func() bool { return false })
	})
	if !strings.Contains(said, "pigs fly: not within 1ms") {
		t.Errorf("it says %q", said)
	}
}

func TestEventuallyLooksOnceEvenWithoutTime(t *testing.T) {
	t.Parallel()
	Eventually(t, 0, "it holds already", func() bool { return true })
}
