package credits

import (
	"context"
	"sync"
	"time"
)

// unlimited is the reservation of a call that no cap is for.
type unlimited struct{}

func (unlimited) Commit(context.Context, float64) {}

// A reservation is the price of one call.
type reservation struct {
	store    *Store
	provider *capped
	id       string
	at       time.Time // decides on the periods
	price    micros
	keys     []string
	told     bool // Redis has it, or may have: a reply can be lost
	once     sync.Once
}

// Commit implements [chain.Reservation]. What cost more than its price counts
// as its price until the ledger has it.
func (r *reservation) Commit(ctx context.Context, credits float64) {
	r.once.Do(func() {
		spent := min(microsOf(credits), r.price)
		if r.told {
			r.store.tell(context.WithoutCancel(ctx), r, spent)
		}
	})
}

// tell gives back what a call did not cost. While Redis is away it is for the next
// call of this process that reaches it.
func (s *Store) tell(ctx context.Context, r *reservation, spent micros) {
	if try, _ := s.redis.Admits(); !try {
		r.provider.owe(debt{r.id, spent})
		return
	}
	if err := s.commit(ctx, r, spent); err != nil {
		s.redis.Failed(err)
		r.provider.owe(debt{r.id, spent})
		return
	}
	s.worked()
}
