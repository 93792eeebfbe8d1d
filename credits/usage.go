package credits

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Usage is how much of a cap is used, in credits.
type Usage struct {
	Provider string  `json:"provider"`
	Per      string  `json:"per"`  // "day" or "month", of UTC
	Used     float64 `json:"used"` // spent, and set aside for calls under way
	Cap      float64 `json:"cap"`
}

// Usage tells of every cap in the present period, sorted by provider and the day's
// before the month's. It is what the next call is decided by. The error says of which
// provider nothing is known, as while Redis is away.
func (s *Store) Usage(ctx context.Context) ([]Usage, error) {
	var all []Usage
	at := s.o.Now()
	for _, name := range s.names {
		p := s.providers[name]
		used, err := s.used(ctx, p, at)
		if err != nil {
			return nil, fmt.Errorf("usage of the credits of %s: %w", name, err)
		}
		for i, l := range p.limits {
			all = append(all, Usage{Provider: name, Per: l.per, Used: used[i].credits(), Cap: l.credits})
		}
	}
	return all, nil
}

// used is what is used of each limit of a provider.
func (s *Store) used(ctx context.Context, p *capped, at time.Time) ([]micros, error) {
	known, _ := s.renewed(ctx, p, at, false)
	used, err := s.counted(ctx, p, at, known)
	if err == nil && used == nil {
		err = errLedger
	}
	return used, err
}

// counted is what Redis says, or the ledger if it knows of more; nil when Redis
// lacks a counter and the ledger was not read.
func (s *Store) counted(ctx context.Context, p *capped, at time.Time, known *reading) ([]micros, error) {
	ctx, cancel := context.WithTimeout(ctx, s.step)
	defer cancel()
	keys := p.keys(at)
	replies := make([]*redis.SliceCmd, len(keys))
	_, err := s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, key := range keys {
			replies[i] = pipe.HMGet(ctx, key, "used", "floor")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the counters of credits: %w", err)
	}
	used := make([]micros, len(keys))
	for i, reply := range replies {
		for _, v := range reply.Val() {
			if v == nil && known == nil {
				return nil, nil
			}
			if v == nil {
				continue
			}
			text, _ := v.(string) // else it is no number either
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("read the counters of credits: %w", errReply)
			}
			used[i] = max(used[i], micros(n))
		}
		if known != nil {
			used[i] = max(used[i], known.sums[i])
		}
	}
	return used, nil
}
