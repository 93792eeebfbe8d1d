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
func rulesOf(c config.Config) (map[string]chain.Rule, error) {
	rules := map[string]chain.Rule{}
	for _, name := range used(c) {
		p := c.Providers[name]
		r := chain.Rule{Credits: p.Credits, Prices: p.Prices}
		var err error
		if r.Fills, err = fields("providers."+name+".fills", p.Fills); err != nil {
			return nil, err
		}
		for _, s := range p.OnlyIf {
			condition, err := chain.ParseCondition(s)
			if err != nil {
				return nil, Usagef("providers.%s.only_if: %w", name, err)
			}
			r.OnlyIf = append(r.OnlyIf, condition)
		}
		rules[name] = r
	}
	return rules, nil
}

// fields are the profile fields that a key of the configuration names.
func fields(key string, names []string) ([]lead.Field, error) {
	list := make([]lead.Field, len(names))
	for i, s := range names {
		f, err := lead.ParseField(s)
		if err != nil {
			return nil, Usagef("%s: %w", key, err)
		}
		list[i] = f
	}
	return list, nil
}

// namesOf are the names that the configuration may use of a kind of thing.
func namesOf[T ~string](things []T) []string {
	names := make([]string, len(things))
	for i, t := range things {
		names[i] = string(t)
	}
	return names
}
