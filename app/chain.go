package app

import (
	"context"
	"strings"
	"time"

	"backstop/chain"
	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/vendors"
	"backstop/resilience"
)

// fallbackRetry bounds the fallback's own calls: it does not retry.
var fallbackRetry = resilience.Retry{Max: 0, Base: time.Second, Factor: 1, Budget: 5 * time.Second}

// shared is what the two chains of a replica have in common. The zero shared is enough
// to check a configuration.
type shared struct {
	gate    resilience.Gate
	cache   chain.Cache
	credits chain.Credits
}

// chains builds the chain of lead:enrich and that of lead:fallback. A provider
// without a key is left out with a warning; it is an error if none is left.
func (a *App) chains(with shared) (enrich, fallback *chain.Chain, err error) {
	if enrich, err = a.chain(a.Config.Chain, a.Config.Retry, with); err != nil {
		return nil, nil, err
	}
	if len(enrich.Providers) == 0 {
		return nil, nil, Usagef("no provider of the chain has a key: set %s", a.keyVariables())
	}
	if fallback, err = a.chain(a.Config.Fallback, fallbackRetry, with); err != nil {
		return nil, nil, err
	}
	fallback.NoWait = true
	return enrich, fallback, nil
}

func (a *App) chain(names []string, retry resilience.Retry, with shared) (*chain.Chain, error) {
	want := named[lead.Field](a.Config.Want)
	c := &chain.Chain{
		Gate: with.gate, Cache: with.cache, Credits: with.credits, IsSuppressed: a.Ledger.IsSuppressed,
		Want: want, Timeouts: map[string]time.Duration{}, Retry: retry,
		Pending: a.Config.Pending, Now: time.Now, Rules: rulesOf(a.Config), Overwrite: named[lead.Field](a.Config.Overwrite),
	}
	for _, name := range names {
		p, err := a.provider(name, want)
		if err != nil {
			return nil, err
		}
		if p != nil {
			c.Providers = append(c.Providers, p)
			c.Timeouts[name] = a.Config.Providers[name].Timeout
		}
	}
	return c, nil
}

// provider makes one provider, or nil when it has no key.
func (a *App) provider(name string, want []lead.Field) (providers.Provider, error) {
	if name == directory {
		return vendors.NewDirectory(func(ctx context.Context, email string) (lead.Profile, time.Time, bool, error) {
			return a.Ledger.LookupEntry(ctx, email)
		}), nil
	}
	key, err := a.Config.APIKey(name)
	if err != nil {
		return nil, Usage(err)
	}
	c := a.Config.Providers[name]
	if key == "" && c.APIKeyEnv+c.APIKeyFile != "" {
		a.Log.Warn().Str("event", "config").Str("provider", name).Str("variable", c.APIKeyEnv).
			Msg("this provider has no API key and is left out; set the variable")
		return nil, nil
	}
	client, err := a.httpClient()
	if err != nil {
		return nil, err
	}
	o := httpjson.Options{BaseURL: c.BaseURL, APIKey: key, Want: want, HTTP: client, MinLikelihood: c.MinLikelihood}
	if c.Description != "" {
		return describe(name, c.Description, o)
	}
	p, err := vendors.New(name, o)
	if err != nil {
		return nil, Usage(err)
	}
	return p, nil
}

func (a *App) keyVariables() string {
	var variables []string
	for _, name := range a.Config.Chain {
		variables = append(variables, a.Config.Providers[name].APIKeyEnv)
	}
	return strings.Join(variables, " or ")
}

// CheckKeys warns of providers without a key and fails if the chain would be
// empty, or a named secret cannot be read.
func (a *App) CheckKeys() error {
	for _, secret := range []func() (string, error){a.Config.RedisURL, a.Config.LedgerURL, a.Config.CacheSecret} {
		if _, err := secret(); err != nil {
			return Usage(err)
		}
	}
	_, _, err := a.chains(shared{})
	return err
}
