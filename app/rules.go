package app

import (
	"slices"

	"backstop/chain"
	"backstop/config"
	"backstop/lead"
)

// used are the HTTP providers that the configuration asks, sorted.
func used(c config.Config) []string {
	names := slices.Concat(c.Chain, c.Fallback)
	names = slices.DeleteFunc(names, func(name string) bool { return name == directory })
	slices.Sort(names)
	return slices.Compact(names)
}

// Providers are the HTTP providers that the configuration asks, sorted.
func (a *App) Providers() []string { return used(a.Config) }

// directory is the name of the in-house directory, which is no HTTP provider.
const directory = "directory"

// rulesOf says when each provider is asked, and what it costs.
func rulesOf(c config.Config) map[string]chain.Rule {
	rules := map[string]chain.Rule{}
	for _, name := range used(c) {
		p := c.Providers[name]
		rules[name] = chain.Rule{
			Fills: named[lead.Field](p.Fills), OnlyIf: named[chain.Condition](p.OnlyIf), Credits: p.Credits, Prices: p.Prices,
		}
	}
	return rules
}

// named are the same names as another type. Those of a configuration were checked when
// it was read, against those that [Source] gives.
func named[To, From ~string](names []From) []To {
	list := make([]To, len(names))
	for i, name := range names {
		list[i] = To(name)
	}
	return list
}
