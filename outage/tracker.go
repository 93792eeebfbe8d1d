// Package outage remembers whether a server can be reached, so that one that hangs costs
// its callers one time-out in all and then one a second, and is reported once when it goes
// and once when it comes back.
package outage

import (
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// RetryAfter is how long a server is left alone after it failed. Then one caller tries.
const RetryAfter = time.Second

// Options are what a [Tracker] says and to whom.
type Options struct {
	Log        zerolog.Logger
	Event      string           // the event of its log lines
	Gone, Back string           // what is logged
	Now        func() time.Time // nil: time.Now
}

// A Tracker remembers whether a server can be reached.
//
//	         a call fails
//	there ----------------> away: one call a second may try
//	      <----------------
//	         a call succeeds
//
// It is safe for concurrent use.
type Tracker struct {
	o Options

	mu   sync.Mutex
	away bool
	next time.Time // away: when the next call may try
}

// New returns a tracker of a server that is there.
func New(o Options) *Tracker {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Tracker{o: o}
}

// Admits reports whether to call the server, and whether that is to see if it is back.
func (t *Tracker) Admits() (try, probe bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.away {
		return true, false
	}
	now := t.o.Now()
	if now.Before(t.next) && t.next.Sub(now) <= RetryAfter { // else the clock was set back
		return false, false
	}
	t.next = now.Add(RetryAfter)
	return true, true
}

// Failed notes that a call failed.
func (t *Tracker) Failed(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = t.o.Now().Add(RetryAfter)
	if t.away {
		return
	}
	t.away = true
	t.o.Log.Warn().Err(err).Str("event", t.o.Event).Msg(t.o.Gone)
}

// Worked notes that a call succeeded, and reports whether the server is only now back.
func (t *Tracker) Worked() (back bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.away {
		return false
	}
	t.away = false
	t.o.Log.Info().Str("event", t.o.Event).Msg(t.o.Back)
	return true
}
