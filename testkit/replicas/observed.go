package replicas

import (
	"backstop/lead"
	"backstop/ledger"
	"backstop/testkit"
	"strings"
	"sync"
	"testing"
	"time"
)

// Settled is what an observer was told of an outcome.
type Settled struct {
	ledger.Settlement
	First                   bool
	SinceStart, SinceAccept time.Duration
}

// Observed is what an observer was told.
type Observed struct {
	mu                       sync.Mutex
	settled                  []Settled
	retries, snoozes, panics int
	rescuedTo                map[string]int
}

// Trail implements tasks.Observer.
func (*Observed) Trail(lead.TrailEntry) {}

// Settled implements tasks.Observer and reconcile.Observer.
func (o *Observed) Settled(s ledger.Settlement, done ledger.Settled, acceptedAt lead.Time) {
	s.Status = done.Status
	o.note(func() {
		if done.Applied {
			o.settled = append(o.settled, Settled{s, done.First, time.Since(s.StartedAt.Time), time.Since(acceptedAt.Time)})
		}
	})
}

// Retry implements tasks.Observer.
func (o *Observed) Retry(string) { o.note(func() { o.retries++ }) }

// Snooze implements tasks.Observer.
func (o *Observed) Snooze() { o.note(func() { o.snoozes++ }) }

// Panicked implements tasks.Observer.
func (o *Observed) Panicked(string) { o.note(func() { o.panics++ }) }

// Rescued implements reconcile.Observer.
func (o *Observed) Rescued(n int, to string) {
	o.note(func() {
		if o.rescuedTo == nil {
			o.rescuedTo = map[string]int{}
		}
		o.rescuedTo[to] += n
	})
}

func (o *Observed) note(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
}

// Last is the latest settlement, once there is one: it is told after the ledger.
func (o *Observed) Last(t *testing.T) (last Settled) {
	t.Helper()
	testkit.Eventually(t, Soon, "the observer is told", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		if n := len(o.settled); n > 0 {
			last = o.settled[n-1]
		}
		return len(o.settled) > 0
	})
	return last
}

// Counts are how many retries, snoozes and panics there were.
func (o *Observed) Counts() (retries, snoozes, panics int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.retries, o.snoozes, o.panics
}

// RescuedTo is how many leads were put back on a queue.
func (o *Observed) RescuedTo(queue string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rescuedTo[queue]
}

// A LogBook keeps log lines.
type LogBook struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *LogBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all that was logged.
func (l *LogBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
