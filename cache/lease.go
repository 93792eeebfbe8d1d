package cache

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"backstop/chain"
	"backstop/lead"
	"backstop/providers"
)

// A lease is the right to make one call and to cache its answer.
type lease struct {
	*Store
	lookup chain.Lookup
	ages   Ages
	keys   *keys
	names  names
	token  string

	flight *flight // nil: nobody in this process waits for it
	alone  bool    // Redis is not asked: it is away
	locked bool    // the lock in Redis is its own, or may be
	once   sync.Once
}

// name finds the names under the fleet's secret, or while Redis cannot be asked
// for it under that of this process.
func (l *lease) name(ctx context.Context) {
	l.keys = l.ring.own()
	try, _ := l.outage.Admits()
	if l.alone = !try; try {
		k, err := l.ring.agree(ctx)
		if err != nil {
			l.outage.Failed(err)
			l.alone = true
		} else {
			l.keys = k
		}
	}
	l.names = l.keys.namesOf(l.o.Prefix, l.lookup.Key)
}

// first looks for the entry in Redis, and waits while another replica makes the
// call. It returns the entry, or the lease when the call is to be made.
func (l *lease) first(ctx context.Context, maxWait <-chan time.Time) (*chain.Entry, chain.Lease, error) {
	entry, err := l.find(ctx, maxWait)
	if err != nil {
		l.Release(ctx)
		return nil, nil, err
	}
	if entry == nil {
		return nil, l, nil
	}
	if l.locked {
		l.giveBack(ctx)
	}
	l.flights.end(l.names.answer, l.flight, entry)
	return entry, nil, nil
}

// find returns nil when the call is to be made.
func (l *lease) find(ctx context.Context, maxWait <-chan time.Time) (*chain.Entry, error) {
	for anyway := false; !l.alone; {
		value, leased, err := l.take(ctx, anyway)
		if err != nil {
			l.locked = true // perhaps: the reply may be what was lost
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			l.outage.Failed(err)
			return nil, nil
		}
		l.outage.Worked()
		l.locked = leased
		if value != nil {
			entry, err := l.keys.open(l.names.answer, value)
			if err == nil && l.usable(entry) {
				return &entry, nil
			}
			if !leased && !anyway {
				anyway = true // it will not do: take the lock beside it
				continue
			}
		}
		if leased {
			return nil, nil
		}
		select {
		case <-time.After(pollMin + rand.N(pollMin)):
		case <-maxWait:
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
func (l *lease) usable(k chain.Entry) bool {
	age := l.ages.of(k.Answer)
	if age == 0 || l.o.Now().Sub(k.At) >= age || k.Class == lead.ClassPending && l.lookup.Ticket != "" {
		return false
	}
	return !k.Class.IsNegative() || !k.At.Before(l.lookup.NegativesSince)
}

// Release implements [chain.Lease].
func (l *lease) Release(ctx context.Context) { l.Fill(ctx, providers.Answer{}) }

// Fill implements [chain.Lease]. Only the first call counts.
func (l *lease) Fill(ctx context.Context, a providers.Answer) {
	l.once.Do(func() {
		ctx := context.WithoutCancel(ctx) // what was paid for is entry also when the caller goes away
		entry := l.keep(ctx, a)
		if entry == nil {
			l.giveBack(ctx)
		}
		if a.Class == lead.ClassForbidden {
			l.forget(ctx)
		}
		if l.flight != nil {
			l.flights.end(l.names.answer, l.flight, entry)
		}
	})
}

// keep stores an answer of a kind that is entry. It returns what the others of
// this process may share, which they may also when Redis could not be told.
func (l *lease) keep(ctx context.Context, a providers.Answer) *chain.Entry {
	age := l.ages.of(a)
	if age == 0 {
		return nil
	}
	entry := &chain.Entry{Answer: a, At: l.o.Now()}
	if try, _ := l.outage.Admits(); !try {
		l.o.NotKept(l.lookup.Provider)
		return entry
	}
	value, err := l.keys.seal(l.names.answer, *entry)
	if err == nil {
		err = l.put(ctx, value, age)
	}
	if err != nil {
		l.outage.Failed(err)
		l.o.NotKept(l.lookup.Provider)
		return entry
	}
	l.outage.Worked()
	return entry
}

// giveBack frees the lock. One that cannot be freed ends with its lease.
func (l *lease) giveBack(ctx context.Context) {
	if !l.locked {
		return
	}
	if try, _ := l.outage.Admits(); !try {
		return
	}
	if err := l.release(context.WithoutCancel(ctx)); err != nil {
		l.outage.Failed(err)
		return
	}
	l.outage.Worked()
}

// forget removes what is entry about a person who asked not to be processed.
func (l *lease) forget(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.o.Timeout)
	defer cancel()
	if _, err := l.Forget(ctx, l.lookup.Subject); err != nil {
		l.o.Logger.Warn().Err(err).Str("event", "cache").
			Msg("what is entry about a person who asked not to be processed could not be removed; it ends with its age")
	}
}
