package credits

import (
	"context"
	"time"

	"backstop/chain"
	"backstop/outage"
)

// alone decides without Redis, by the ledger and by what this process has spent
// since.
func (s *Store) alone(ctx context.Context, r *reservation) (*chain.CapReached, error) {
	p := r.provider
	known := s.known(ctx, p, r.at)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case known == nil:
		s.o.Refused(p.name, unknown)
		full := p.reached(0, r.at)
		full.Until, full.Unknown = r.at.Add(outage.RetryAfter).UTC(), true
		return full, nil
	}
	if full := p.admit(r, known); full >= 0 {
		return s.refuse(r, full), nil
	}
	return nil, nil
}

// known is a reading to decide by without Redis, nil if there is none that will do.
func (s *Store) known(ctx context.Context, p *capped, at time.Time) *reading {
	last := p.last(at)
	if last.within(everyAway, at) {
		return last
	}
	if now, err := s.read(ctx, p, at); err == nil {
		return now
	}
	if last.within(oldest, at) {
		return last
	}
	return nil
}
