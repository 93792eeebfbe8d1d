package credits

import (
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// lookAgain is how long Redis or the ledger is left alone after it failed. Then
// one caller tries, so that one that hangs costs one time-out in all and then one
// a second.
const lookAgain = time.Second

// An outage remembers whether Redis, or the ledger, can be reached.
//
//	         a call fails
//	there ----------------> away: one call a second may try
//	      <----------------
//	         a call succeeds
type outage struct {
	log        zerolog.Logger
	now        func() time.Time
	gone, back string // what is logged

	mu   sync.Mutex
	away bool
	next time.Time // away: when the next call may try
}

// admits reports whether to try, and whether that is to see if it is back.
func (o *outage) admits() (try, back bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away {
		return true, false
	}
	now := o.now()
	if now.Before(o.next) && o.next.Sub(now) <= lookAgain { // else the clock was set back
		return false, false
	}
	o.next = now.Add(lookAgain)
	return true, true
}

// failed notes that a call failed.
func (o *outage) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.next = o.now().Add(lookAgain)
	if o.away {
		return
	}
	o.away = true
	o.log.Warn().Err(err).Str("event", "credits").Msg(o.gone)
}

// worked notes that a call succeeded, and reports whether it is only now back.
func (o *outage) worked() (back bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away {
		return false
	}
	o.away = false
	o.log.Info().Str("event", "credits").Msg(o.back)
	return true
}
