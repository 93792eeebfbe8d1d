package answers

import (
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// again is how long Redis is left alone after it failed. Then one caller tries,
// so that a Redis that hangs costs one time-out in all and then one a second.
const again = time.Second

// An outage remembers whether Redis can be reached.
//
//	         a call fails
//	there ----------------> away: one call a second may try
//	      <----------------
//	         a call succeeds
type outage struct {
	log zerolog.Logger

	mu   sync.Mutex
	away bool
	next time.Time // away: when the next call may try
}

// admits reports whether to ask Redis.
func (o *outage) admits() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away {
		return true
	}
	now := time.Now()
	if now.Before(o.next) {
		return false
	}
	o.next = now.Add(again)
	return true
}

// failed notes that a call failed.
func (o *outage) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.next = time.Now().Add(again)
	if o.away {
		return
	}
	o.away = true
	o.log.Warn().Err(err).Str("event", "answers").
		Msg("the kept answers cannot be reached; until they can, leads are enriched without them and a person may be paid for twice")
}

// worked notes that a call succeeded.
func (o *outage) worked() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away {
		return
	}
	o.away = false
	o.log.Info().Str("event", "answers").Msg("the kept answers can be reached again")
}
