package cache_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/rs/zerolog"

	"backstop/cache"
	"backstop/chain"
	"backstop/lead"
	"backstop/providers"
	"backstop/testkit"
)

const api = "hunter"

var (
	secret = []byte("a secret that only the tests have")
	day    = cache.Ages{Positive: 24 * time.Hour, Negative: 24 * time.Hour, Lease: 5 * time.Second}

	// found is an answer with something in every field that is kept.
	found = providers.Answer{
		Class: lead.ClassPartial, Status: 200, Detail: "no company", AsOf: time.Date(2025, 3, 1, 8, 30, 0, 0, time.UTC), Confidence: 0.75,
		Profile: lead.Profile{lead.PersonName: "Ann Example-Lee", lead.PersonTitle: "Head of Sealing"},
	}
	unknown = providers.Answer{Class: lead.ClassNoData, Status: 404}
)

// everywhere runs a test on a real Redis and on the one in the process.
func everywhere(t *testing.T, test func(t *testing.T, addr string)) {
	t.Run("on Redis", func(t *testing.T) { test(t, testkit.RedisServer(t).Addr()) })
	t.Run("on the embedded Redis", func(t *testing.T) { test(t, miniredis.RunT(t).Addr()) })
}

func client(tb testing.TB, addr string) *redis.Client {
	c := newClient(addr)
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close Redis client: %v", err)
		}
	})
	return c
}

func newClient(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, ContextTimeoutEnabled: true, PoolSize: 40,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// A replica is the Store of one process among several.
type replica struct {
	*cache.Store
	tb      testing.TB
	now     time.Time // not the real one: set by tests of ages
	notKept atomic.Int64
}

func newReplica(tb testing.TB, addr string, set ...func(*cache.Options)) *replica {
	tb.Helper()
	r := &replica{tb: tb}
	o := cache.Options{
		Secret: secret, Providers: map[string]cache.Ages{api: day}, Logger: zerolog.Nop(),
		NotKept: func(string) { r.notKept.Add(1) },
		Now: func() time.Time {
			if r.now.IsZero() {
				return time.Now()
			}
			return r.now
		},
	}
	for _, f := range set {
		f(&o)
	}
	var err error
	if r.Store, err = cache.New(client(tb, addr), o); err != nil {
		tb.Fatal(err)
	}
	return r
}

// ages sets those of the provider.
func ages(positive, negative, lease time.Duration) func(*cache.Options) {
	return func(o *cache.Options) {
		o.Providers = map[string]cache.Ages{api: {Positive: positive, Negative: negative, Lease: lease}}
	}
}

func about(subject string) chain.Lookup {
	return chain.Lookup{Key: chain.Key{Provider: api, Endpoint: "combined/find", Subject: subject, Variant: "https://api.example"}, MaxWait: 10 * time.Second}
}

// claim asks for an answer; exactly one of the two that it returns is nil.
func (r *replica) claim(q chain.Lookup) (*chain.Entry, chain.Lease) {
	r.tb.Helper()
	kept, claim, err := r.GetOrLease(context.Background(), q)
	if err != nil {
		r.tb.Fatalf("GetOrLease: %v", err)
	}
	if (kept == nil) == (claim == nil) {
		r.tb.Fatalf("GetOrLease gave %v and %v", kept, claim)
	}
	return kept, claim
}

// learn makes a call with the answer a.
func (r *replica) learn(q chain.Lookup, a providers.Answer) {
	r.tb.Helper()
	kept, claim := r.claim(q)
	if kept != nil {
		r.tb.Fatalf("there is an answer already: %+v", kept)
	}
	claim.Fill(context.Background(), a)
}

// knows reports whether the answer to q is kept, and leaves everything as it was.
func (r *replica) knows(q chain.Lookup) bool {
	r.tb.Helper()
	kept, claim := r.claim(q)
	if claim != nil {
		claim.Release(context.Background())
	}
	return kept != nil
}
