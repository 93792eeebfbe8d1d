package outage_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"backstop/outage"
)

func TestAServerThatIsAwayIsTriedOnceASecondAndReportedOnce(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var log strings.Builder
	tr := outage.New(outage.Options{Log: zerolog.New(&log), Event: "redis", Gone: "it is gone", Back: "it is back", Now: func() time.Time { return now }})
	admits := func(when string, try, probe bool) {
		t.Helper()
		if gotTry, gotProbe := tr.Admits(); gotTry != try || gotProbe != probe {
			t.Errorf("%s: try %t, probe %t", when, gotTry, gotProbe)
		}
	}
	admits("while it is there", true, false)
	tr.Failed(errors.New("refused"))
	tr.Failed(errors.New("refused"))
	admits("just after it failed", false, false)
	now = now.Add(outage.RetryAfter)
	admits("a second later", true, true)
	admits("the next one in that second", false, false)
	now = now.Add(-time.Hour)
	admits("after the clock was set back", true, true)
	if !tr.Worked() || tr.Worked() {
		t.Error("it is back once")
	}
	admits("when it is back", true, false)
	if gone, back := strings.Count(log.String(), "it is gone"), strings.Count(log.String(), "it is back"); gone != 1 || back != 1 {
		t.Errorf("the log says %d times that it is gone and %d times that it is back", gone, back)
	}
}
