package app

import (
	"time"

	"github.com/rs/zerolog"

	"backstop/cache"
	"backstop/config"
)

// leaseMargin is what a call may take beyond its time-out and the wait at the
// gate until others stop waiting for its answer: the way to Redis and back.
const leaseMargin = 2 * time.Second

// Cache makes a replica's access to the answer cache; Redis must be open. notCached is
// told of each answer that should have been cached and was not; it may be nil.
func (a *App) Cache(log zerolog.Logger, notCached func(provider string)) (*cache.Store, error) {
	secret, err := a.Config.CacheSecret()
	if err != nil {
		return nil, Usage(err)
	}
	s, err := cache.New(a.Redis, cache.Options{
		Prefix: a.Config.Redis.Prefix, Secret: []byte(secret), Providers: agesOf(a.Config),
		Logger: log, NotKept: notCached,
	})
	if err != nil {
		return nil, Usage(err)
	}
	return s, nil
}

func agesOf(c config.Config) map[string]cache.Ages {
	all := map[string]cache.Ages{}
	for _, name := range used(c) {
		p := c.Providers[name]
		all[name] = cache.Ages{
			Positive: p.Cache.Positive, Negative: p.Cache.Negative,
			Lease: p.MaxWait + p.Timeout + leaseMargin,
		}
	}
	return all
}
