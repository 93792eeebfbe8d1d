package app

import (
	"github.com/rs/zerolog"

	"backstop/config"
	"backstop/credits"
)

// Capped reports whether spending at a provider is capped.
func (a *App) Capped() bool { return len(capsOf(a.Config)) > 0 }

// Credits makes a replica's part of the caps on what the fleet spends; the ledger
// and Redis must be open. It is nil when nothing is capped. refused is told of each
// call that a cap stopped; it may be nil.
func (a *App) Credits(log zerolog.Logger, refused func(provider, per string)) (*credits.Store, error) {
	caps := capsOf(a.Config)
	if len(caps) == 0 {
		return nil, nil
	}
	s, err := credits.New(a.Redis, credits.Options{
		Prefix: a.Config.Redis.Prefix, Caps: caps, Spent: a.Ledger.Spent, Logger: log, Refused: refused,
	})
	if err != nil {
		return nil, Usage(err)
	}
	return s, nil
}

// capsOf are the caps of the providers that are asked and have one.
func capsOf(c config.Config) map[string]credits.Caps {
	caps := map[string]credits.Caps{}
	for _, name := range used(c) {
		if p := c.Providers[name].Caps; p != (config.Caps{}) {
			caps[name] = credits.Caps(p)
		}
	}
	return caps
}
