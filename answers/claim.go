package answers

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"backstop/lead"
	"backstop/providers"
	"backstop/resilience"
)

// unkept is the claim on an answer that is not to be kept.
type unkept struct{}

func (unkept) End(context.Context, providers.Answer) {}

// A claim is the right to make one call.
type claim struct {
	*Store
	question resilience.Question
	ages     Ages
	keys     *keys
	names    names
	token    string

	flight *flight // nil: nobody in this process waits for it
	alone  bool    // Redis is not asked: it is away
	locked bool    // the lock in Redis is its own, or may be
	once   sync.Once
}

// name finds the names under the fleet's secret, or while Redis cannot be asked
// for it under that of this process.
func (c *claim) name(ctx context.Context) {
	c.keys, c.alone = c.ring.own(), !c.outage.admits()
	if !c.alone {
		k, err := c.ring.agree(ctx)
		if err != nil {
			c.outage.failed(err)
			c.alone = true
		} else {
			c.keys = k
		}
	}
	c.names = c.keys.namesOf(c.o.Prefix, c.question)
}

// lead looks for the answer in Redis, and waits while another replica makes the
// call. It returns the answer, or the claim when the call is to be made.
func (c *claim) lead(ctx context.Context, patience <-chan time.Time) (*resilience.Kept, resilience.Claim, error) {
	kept, err := c.find(ctx, patience)
	if err != nil {
		c.End(ctx, providers.Answer{})
		return nil, nil, err
	}
	if kept == nil {
		return nil, c, nil
	}
	if c.locked {
		c.giveBack(ctx)
	}
	c.flights.end(c.names.answer, c.flight, kept)
	return kept, nil, nil
}

// find returns nil when the call is to be made.
func (c *claim) find(ctx context.Context, patience <-chan time.Time) (*resilience.Kept, error) {
	for anyway := false; !c.alone; {
		value, claimed, err := c.take(ctx, anyway)
		if err != nil {
			c.locked = true // perhaps: the reply may be what was lost
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			c.outage.failed(err)
			return nil, nil
		}
		c.outage.worked()
		c.locked = claimed
		if value != nil {
			kept, err := c.keys.open(c.names.answer, value)
			if err == nil && c.usable(kept) {
				return &kept, nil
			}
			if !claimed && !anyway {
				anyway = true // it will not do: take the lock beside it
				continue
			}
		}
		if claimed {
			return nil, nil
		}
		select {
		case <-time.After(pollMin + rand.N(pollMin)):
		case <-patience:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, nil
}

// Who waits for another replica looks again after pollMin to twice that.
const pollMin = 25 * time.Millisecond

// usable reports whether an answer may be used for the question.
func (c *claim) usable(k resilience.Kept) bool {
	age := c.ages.of(k.Answer)
	if age == 0 || c.o.Now().Sub(k.At) >= age || k.Class == lead.ClassPending && c.question.Ticket != "" {
		return false
	}
	return !k.Class.IsNegative() || !k.At.Before(c.question.NegativesSince)
}

// End implements [resilience.Claim].
func (c *claim) End(ctx context.Context, a providers.Answer) {
	c.once.Do(func() {
		ctx := context.WithoutCancel(ctx) // what was paid for is kept also when the caller goes away
		kept := c.keep(ctx, a)
		if kept == nil {
			c.giveBack(ctx)
		}
		if a.Class == lead.ClassForbidden {
			c.forget(ctx)
		}
		if c.flight != nil {
			c.flights.end(c.names.answer, c.flight, kept)
		}
	})
}

// keep stores an answer of a kind that is kept. It returns what the others of
// this process may share, which they may also when Redis could not be told.
func (c *claim) keep(ctx context.Context, a providers.Answer) *resilience.Kept {
	age := c.ages.of(a)
	if age == 0 {
		return nil
	}
	kept := &resilience.Kept{Answer: a, At: c.o.Now()}
	if !c.outage.admits() {
		c.o.NotKept(c.question.Provider)
		return kept
	}
	value, err := c.keys.seal(c.names.answer, *kept)
	if err == nil {
		err = c.put(ctx, value, age)
	}
	if err != nil {
		c.outage.failed(err)
		c.o.NotKept(c.question.Provider)
		return kept
	}
	c.outage.worked()
	return kept
}

// giveBack frees the lock. One that cannot be freed ends with its lease.
func (c *claim) giveBack(ctx context.Context) {
	if !c.locked || !c.outage.admits() {
		return
	}
	if err := c.release(context.WithoutCancel(ctx)); err != nil {
		c.outage.failed(err)
		return
	}
	c.outage.worked()
}

// forget removes what is kept about a person who asked not to be processed.
func (c *claim) forget(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	if _, err := c.Forget(ctx, c.question.Subject); err != nil {
		c.o.Logger.Warn().Err(err).Str("event", "answers").
			Msg("what is kept about a person who asked not to be processed could not be removed; it ends with its age")
	}
}
