package ops

import (
	"context"
	"math"
	"time"

	"backstop/clock"
)

// A replayPace spreads the batches of a replay evenly over time. A batch that was
// late is not made up for by a burst.
type replayPace struct {
	rate float64 // leads a second; 0: any
	now  func() time.Time
	rest func(context.Context, time.Duration) error
	next time.Time // the earliest time of the next batch
}

func (r Replayer) pace() *replayPace {
	p := &replayPace{rate: r.Rate, now: r.Now, rest: r.Wait}
	if p.now == nil {
		p.now = time.Now
	}
	if p.rest == nil {
		p.rest = clock.Sleep
	}
	return p
}

// batch is how many leads go at once: those of a fifth of a second, so that what
// is asked for a second is also true of its parts.
func (p *replayPace) batch() int {
	if p.rate <= 0 {
		return replayBatch
	}
	return int(math.Min(math.Max(1, p.rate/5), replayBatch))
}

// wait returns when the next n leads may go, or with ctx's error when that ends.
func (p *replayPace) wait(ctx context.Context, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.rate <= 0 {
		return nil
	}
	now := p.now()
	if left := p.next.Sub(now); left > 0 {
		if err := p.rest(ctx, left); err != nil {
			return err
		}
		now = p.next
	}
	p.next = now.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	return nil
}
