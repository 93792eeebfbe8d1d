package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"backstop/chain"
	"backstop/lead"
	"backstop/outage"
	"backstop/providers"
)

// Options are the options of a [Store].
type Options struct {
	// Prefix begins the name of every key. Default "backstop".
	Prefix string
	// Secret is what keys and values are derived from, the same in all replicas.
	// Without one the replicas make one and keep it in Redis.
	Secret []byte
	// Providers says what is kept. Of a provider that is not in it nothing is.
	Providers map[string]Ages
	// Timeout is the longest that a caller waits for Redis itself. Default 1 s.
	Timeout time.Duration
	// Logger is told when Redis goes and comes.
	Logger zerolog.Logger
	// NotKept is told of each answer that should have been kept and was not. It may
	// be nil.
	NotKept func(provider string)
	// Now is the clock that ages are told by. Default time.Now.
	Now func() time.Time
}

// Ages says how long a provider's answers are used.
type Ages struct {
	Positive time.Duration // ok and partial; 0: not kept
	Negative time.Duration // no_data and invalid_input; 0: not kept
	// Lease is the longest that a call may take, with the wait at the gate: so long
	// others wait for one that died. Default 10 s.
	Lease time.Duration
}

// of is how long an answer is kept; 0: not at all.
func (a Ages) of(answer providers.Answer) time.Duration {
	switch c := answer.Class; {
	case c.HasData():
		return a.Positive
	case c.IsNegative():
		return a.Negative
	case c == lead.ClassPending && answer.Ticket != "":
		return min(a.Positive, ticketAge)
	}
	return 0
}

// ticketAge is how long a ticket is shared: so long others who ask the same fetch
// what was ordered instead of ordering it again.
const ticketAge = 5 * time.Minute

const (
	defaultTimeout = time.Second
	defaultLease   = 10 * time.Second
)

// A Store keeps answers on Redis. It is safe for concurrent use and has no
// goroutines of its own.
type Store struct {
	o       Options
	rdb     redis.UniversalClient
	ring    *ring
	outage  *outage.Tracker
	flights flights
	marked  atomic.Pointer[marking]
}

var _ chain.Cache = (*Store)(nil)

// New makes a Store. It does not ask Redis for anything yet.
//
// The client stays the caller's. It must have ContextTimeoutEnabled: without it
// go-redis does not obey the deadlines of contexts, and Options.Timeout would be
// its own time-outs.
func New(rdb redis.UniversalClient, o Options) (*Store, error) {
	if o.Prefix == "" {
		o.Prefix = "backstop"
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NotKept == nil {
		o.NotKept = func(string) {}
	}
	all := make(map[string]Ages, len(o.Providers))
	for name, a := range o.Providers {
		if a.Lease == 0 {
			a.Lease = defaultLease
		}
		if a.Positive < 0 || a.Negative < 0 || a.Lease < 0 {
			return nil, fmt.Errorf("answers of %s: an age or the lease is negative", name)
		}
		all[name] = a
	}
	o.Providers = all
	if strings.ContainsAny(o.Prefix, "{}") {
		return nil, fmt.Errorf("answers: key prefix %q: braces are not allowed", o.Prefix)
	}
	if o.Timeout < 0 {
		return nil, errors.New("answers: the time-out is negative")
	}
	ring, err := newRing(o, rdb)
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	return &Store{o: o, rdb: rdb, ring: ring, outage: outage.New(outage.Options{
		Log: o.Logger, Event: "cache", Back: "the answer cache can be reached again",
		Gone: "the answer cache cannot be reached; until it can, leads are enriched without it and a person may be paid for twice",
	})}, nil
}

// GetOrLease implements [chain.Cache].
func (s *Store) GetOrLease(ctx context.Context, l chain.Lookup) (*chain.Entry, chain.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	ages := s.o.Providers[l.Provider]
	if l.Subject == "" || ages.Positive == 0 && ages.Negative == 0 {
		return nil, chain.NoLease{}, nil
	}
	own := &lease{Store: s, lookup: l, ages: ages, token: uuid.NewString()}
	own.name(ctx)
	maxWait := time.NewTimer(min(l.MaxWait, ages.Lease))
	defer maxWait.Stop()
	for {
		f, first := s.flights.join(own.names.answer)
		if first {
			own.flight = f
			return own.first(ctx, maxWait.C)
		}
		select {
		case <-f.done:
			if f.entry != nil && own.usable(*f.entry) {
				return f.entry, nil, nil
			}
		case <-maxWait.C:
			return nil, own, nil // in no flight: it makes a call of its own
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// Forget removes what is cached about people, who may be named by any Subject of a
// call, and reports how many answers that was. An address stands for all its
// spellings. Calls that are under way about them will not be cached. All subjects are
// gone through, whatever becomes of one of them. Beside a number the error may be
// [chain.ErrOtherSecret].
func (s *Store) Forget(ctx context.Context, subjects ...string) (n int, err error) {
	k, err := s.ring.agree(ctx)
	if err != nil {
		return 0, fmt.Errorf("forget a person's answers: %w", err)
	}
	var errs []error
	for _, subject := range subjects {
		person := k.person(s.o.Prefix, subject)
		removed, err := forgetScript.Run(ctx, s.rdb, []string{person + "all", person + "gone"}, millis(s.longestLease())).Int()
		if err != nil {
			errs = append(errs, fmt.Errorf("forget a person's answers: %w", err))
		}
		n += removed
	}
	if len(errs) > 0 {
		return n, errors.Join(errs...)
	}
	return n, s.onlyMark(ctx, k)
}

// longestLease is the longest that a call may be under way.
func (s *Store) longestLease() time.Duration {
	longest := defaultLease
	for _, a := range s.o.Providers {
		longest = max(longest, a.Lease)
	}
	return longest
}

// onlyMark checks that nothing is kept under another secret.
func (s *Store) onlyMark(ctx context.Context, k *keys) error {
	now := s.o.Now()
	since := fmt.Sprintf("(%d", now.Add(-s.longestAge()-remark).UnixMilli())
	marks, err := s.rdb.ZRangeByScore(ctx, s.marksKey(), &redis.ZRangeBy{Min: since, Max: "+inf"}).Result()
	if err != nil {
		return fmt.Errorf("look for other secrets: %w", err)
	}
	for _, m := range marks {
		if m != k.mark {
			return chain.ErrOtherSecret
		}
	}
	return nil
}

// remark is how often a store that keeps answers leaves its mark.
const remark = 30 * time.Second

func (s *Store) marksKey() string { return s.o.Prefix + ":answers:marks" }

// longestAge is how long anything is kept.
func (s *Store) longestAge() (longest time.Duration) {
	for _, a := range s.o.Providers {
		longest = max(longest, a.Positive, a.Negative)
	}
	return longest
}

// leaveMark notes in Redis, now and then, that answers are kept under a secret, so
// that who is to forget a person can tell whether they would find them.
func (s *Store) leaveMark(ctx context.Context, k *keys) error {
	now := s.o.Now()
	if last := s.marked.Load(); last != nil && last.keys == k && now.Sub(last.at).Abs() < remark {
		return nil
	}
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAdd(ctx, s.marksKey(), redis.Z{Score: float64(now.UnixMilli()), Member: k.mark})
		p.PExpire(ctx, s.marksKey(), s.longestAge()+time.Hour)
		return nil
	})
	if err != nil {
		return fmt.Errorf("leave the secret's mark: %w", err)
	}
	s.marked.Store(&marking{keys: k, at: now})
	return nil
}

// A marking is when a store left the mark of which secret.
type marking struct {
	keys *keys
	at   time.Time
}
