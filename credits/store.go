package credits

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"backstop/chain"
	"backstop/outage"
)

// Options are the options of a [Store].
type Options struct {
	// Prefix begins the name of every key. Default "backstop".
	Prefix string
	// Caps are the most that may be spent, by provider. One that is not in it is not
	// capped.
	Caps map[string]Caps
	// Spent is what the ledger knows to be spent for good, in credits, in the UTC day
	// and in the UTC month that contain now. It must be given, and obey its context.
	Spent func(ctx context.Context, provider string, now time.Time) (day, month float64, err error)
	// Timeout is the longest that a caller waits for Redis and the ledger together;
	// each question has a third of it. Default 1 s.
	Timeout time.Duration
	// Logger is told when Redis or the ledger goes and comes, and when a cap is
	// reached for the first time in its period.
	Logger zerolog.Logger
	// Now is the clock that periods and ages are told by. Default time.Now.
	Now func() time.Time
	// Refused is told of each refused call and the cap that refused it: "day",
	// "month", or "unknown" when nothing could say what was spent. It may be nil.
	Refused func(provider, per string)
}

// Caps are the most credits that are spent in a UTC day and in a UTC month; 0: no
// cap. A day's above the month's is no mistake: the month's then holds.
type Caps struct{ Day, Month float64 }

const (
	defaultTimeout = time.Second
	// keptOn is for how long a counter outlives its period, for clocks that go
	// differently. One that is gone too early begins again from the ledger.
	keptOn = 24 * time.Hour
	// unknown is what Refused is told when nothing says what was spent.
	unknown = "unknown"
)

// A Store counts credits on Redis. It is safe for concurrent use and has no
// goroutines of its own.
type Store struct {
	o         Options
	rdb       redis.UniversalClient
	step      time.Duration // the longest that one question may take
	providers map[string]*capped
	names     []string // of the capped ones, sorted
	redis     *outage.Tracker
	ledger    *outage.Tracker
}

var _ chain.Credits = (*Store)(nil)

// New makes a Store. It asks neither Redis nor the ledger yet.
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
	if o.Refused == nil {
		o.Refused = func(string, string) {}
	}
	switch {
	case strings.ContainsAny(o.Prefix, "{}"):
		return nil, fmt.Errorf("credits: key prefix %q: braces are not allowed", o.Prefix)
	case o.Timeout < 0:
		return nil, errors.New("credits: the time-out is negative")
	case o.Spent == nil:
		return nil, errors.New("credits: nothing says what the ledger knows to be spent")
	}
	s := &Store{o: o, rdb: rdb, step: o.Timeout / 3, providers: map[string]*capped{}}
	for name, c := range o.Caps {
		if err := c.check(name); err != nil {
			return nil, fmt.Errorf("credits: %w", err)
		}
		if p := newCapped(name, o.Prefix, c); p != nil {
			s.providers[name] = p
		}
	}
	s.names = slices.Sorted(maps.Keys(s.providers))
	s.redis = outage.New(outage.Options{
		Log: o.Logger, Event: "credits", Now: o.Now, Back: "the counters of credits can be reached again",
		Gone: "the counters of credits cannot be reached; until they can, calls that have a price wait",
	})
	s.ledger = outage.New(outage.Options{
		Log: o.Logger, Event: "credits", Now: o.Now, Back: "what was spent can be read from the ledger again",
		Gone: "what was spent cannot be read from the ledger; the caps hold by what is counted, and where nothing is, calls that have a price wait",
	})
	return s, nil
}

func (c Caps) check(provider string) error {
	if provider == "" || strings.ContainsAny(provider, "{}") {
		return fmt.Errorf("provider %q: a name without braces is needed", provider)
	}
	for per, credits := range map[string]float64{perDay: c.Day, perMonth: c.Month} {
		if !(credits >= 0 && credits <= maxCredits) { // NaN is none
			return fmt.Errorf("the cap of %s for a %s is %g: use a number of credits from 0 to %.0f", provider, per, credits, maxCredits)
		}
	}
	return nil
}

// Reserve implements [chain.Credits].
func (s *Store) Reserve(ctx context.Context, provider string, price float64) (chain.Reservation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := s.providers[provider]
	if p == nil || price <= 0 { // NaN is more than any cap
		return unlimited{}, nil
	}
	at := s.o.Now()
	r := &reservation{store: s, provider: p, id: uuid.NewString(), at: at, price: microsOf(price), keys: p.keys(at)}
	full, err := s.book(ctx, r)
	if err == nil && full == nil {
		return r, nil
	}
	if r.told { // and nobody makes the call
		p.owe(debt{id: r.id})
	}
	if err == nil {
		err = full
	}
	return nil, err
}

// book sets the price aside in Redis.
func (s *Store) book(ctx context.Context, r *reservation) (*chain.CapReached, error) {
	try, back := s.redis.Admits()
	if !try {
		return s.uncounted(r), nil
	}
	answer, err := s.count(ctx, r, back)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errLedger):
		return s.uncounted(r), nil
	case err != nil:
		s.redis.Failed(err)
		return s.uncounted(r), nil
	}
	s.worked()
	if answer != reserved {
		return s.refuse(r, answer-1), nil
	}
	return nil, nil
}

// uncounted refuses a call while nothing can say what was spent.
func (s *Store) uncounted(r *reservation) *chain.CapReached {
	s.o.Refused(r.provider.name, unknown)
	full := r.provider.reached(0, r.at)
	full.Until, full.Unknown = r.at.Add(outage.RetryAfter).UTC(), true
	return full
}

// count asks Redis, and the ledger when that is due or Redis knows nothing. The
// error is errLedger when neither does.
func (s *Store) count(ctx context.Context, r *reservation, due bool) (answer int, err error) {
	known, fresh := s.renewed(ctx, r.provider, r.at, due)
	answer, err = s.reserve(ctx, r, known, fresh)
	if err != nil || answer != missing {
		return answer, err
	}
	if known, err = s.read(ctx, r.provider, r.at); err != nil {
		return 0, err
	}
	return s.reserve(ctx, r, known, true)
}

// worked notes that Redis was reached. When it comes back, what was spent without
// it is in the ledger, and readings from before will not do.
func (s *Store) worked() {
	if !s.redis.Worked() {
		return
	}
	for _, p := range s.providers {
		p.expire()
	}
}

// refuse tells of a call that the i-th limit has no room for.
func (s *Store) refuse(r *reservation, i int) *chain.CapReached {
	p := r.provider
	full := p.reached(i, r.at)
	s.o.Refused(p.name, full.Per)
	if p.announces(i, r.at) {
		s.o.Logger.Warn().Str("event", "credits").Str("provider", p.name).Str("per", full.Per).
			Float64("cap", full.Cap).Time("until", full.Until).
			Msg("the cap of the provider's credits is reached: until then leads go on without it")
	}
	return full
}
