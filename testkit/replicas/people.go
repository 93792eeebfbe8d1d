package replicas

import (
	"backstop/cache"
	"backstop/chain"
	"backstop/lead"
	"backstop/ledger"
	"backstop/ops"
	"backstop/providers"
	"backstop/queue"
	"backstop/testkit"
	"errors"
	"fmt"
	"strings"
	"time"
)

// WithCache gives the fleet an answer cache, and returns what erases people from
// all of it.
func (f *Fleet) WithCache() ops.Eraser {
	f.T.Helper()
	store, err := cache.New(f.RDB, cache.Options{
		Secret:    []byte("a secret that only the tests have"),
		Providers: map[string]cache.Ages{"clearbit": {Positive: time.Hour, Negative: time.Hour}, "hunter": {Positive: time.Hour, Negative: time.Hour}},
		Logger:    f.Deps.Log,
	})
	testkit.NoError(f.T, err)
	f.Deps.Chain.Cache, f.Deps.Forget = store, store.Forget
	return ops.Eraser{Ledger: f.Ledger, Queue: f.Queue, Cache: store, Log: f.Deps.Log}
}

// InRedis is everything that Redis holds, in the clear.
func (f *Fleet) InRedis() string {
	f.T.Helper()
	var all strings.Builder
	ctx := f.T.Context()
	keys, err := f.RDB.Keys(ctx, "*").Result()
	testkit.NoError(f.T, err)
	for _, key := range keys {
		fmt.Fprintln(&all, key)
		switch f.RDB.Type(ctx, key).Val() {
		case "string":
			fmt.Fprintln(&all, f.RDB.Get(ctx, key).Val())
		case "hash":
			fmt.Fprintln(&all, f.RDB.HGetAll(ctx, key).Val())
		case "list":
			fmt.Fprintln(&all, f.RDB.LRange(ctx, key, 0, -1).Val())
		case "set":
			fmt.Fprintln(&all, f.RDB.SMembers(ctx, key).Val())
		case "zset":
			fmt.Fprintln(&all, f.RDB.ZRange(ctx, key, 0, -1).Val())
		}
	}
	return strings.ToLower(all.String())
}

// MustNotName holds Redis against the promise that nothing of the person is in it.
func (f *Fleet) MustNotName(what string, ids ...string) {
	f.T.Helper()
	all := f.InRedis()
	for _, part := range append(ids, "ann.lee", "ann lee", "acme.example") {
		if strings.Contains(all, strings.ToLower(part)) {
			f.T.Errorf("%s: Redis still has %q", what, part)
		}
	}
}

// Cy is known by name; Hunter finds the address.
var Cy = lead.Lead{Name: "Cy Fox", Company: "Acme", Source: "crm", SourceID: "7"}

// CyAddress is what Hunter finds.
const CyAddress = "cy.fox@acme.example"

// ByName makes a chain that finds addresses of those who are known by name.
func (f *Fleet) ByName() {
	f.Deps.Chain.Providers = []providers.Provider{f.Provider("hunter")}
	f.Deps.Chain.Want = []lead.Field{lead.PersonName, lead.PersonEmail, lead.PersonTitle, lead.PersonLocation, lead.CompanyName, lead.CompanyDomain}
	f.Deps.Chain.IsSuppressed = f.Ledger.IsSuppressed
}

// PutLead accepts one lead.
func (f *Fleet) PutLead(l lead.Lead) ledger.Accepted {
	f.T.Helper()
	l, err := lead.Normalize(l)
	testkit.NoError(f.T, err)
	a, err := f.Enqueuer().Put(f.T.Context(), []lead.Lead{l})
	testkit.NoError(f.T, err)
	return a[0]
}

// Enriched puts a lead and stops the worker again when it has its outcome.
func (f *Fleet) Enriched(l lead.Lead) ledger.Accepted {
	f.T.Helper()
	stop := f.Start()
	defer stop()
	a := f.PutLead(l)
	f.Outcome(a)
	f.Becomes(a, queue.States{})
	return a
}

// Cached is how many answers are cached under the names, which are none afterwards.
func (f *Fleet) Cached(subjects ...string) (n int) {
	f.T.Helper()
	for _, s := range subjects {
		k, err := f.Deps.Forget(f.T.Context(), s)
		if err != nil && !errors.Is(err, chain.ErrOtherSecret) {
			f.T.Fatal(err)
		}
		n += k
	}
	return n
}
