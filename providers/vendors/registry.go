package vendors

import (
	"fmt"
	"slices"
	"strings"

	"backstop/providers"
	"backstop/providers/described"
	"backstop/providers/httpjson"
)

// known has every provider with code of its own. The others that can be named
// without a description are the shipped ones ([described.Shipped]).
var known = map[string]struct {
	make  func(httpjson.Options) providers.Provider
	facts described.Facts
}{
	"clearbit": {NewClearbit, clearbitFacts},
	"hunter":   {NewHunter, hunterFacts},
	"pdl":      {NewPDL, pdlFacts},
}

// Names lists the known HTTP providers, sorted.
func Names() []string {
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	names = append(names, described.Shipped()...)
	slices.Sort(names)
	return names
}

// New makes the provider of that name. It fails for a name that is not known and
// for options with which no request could be made.
func New(name string, o httpjson.Options) (providers.Provider, error) {
	if d, ok := described.ByName(name); ok {
		return d.New(name, o)
	}
	k, ok := known[name]
	if !ok {
		return nil, fmt.Errorf("unknown provider %q: use one of %s", name, strings.Join(Names(), ", "))
	}
	if err := httpjson.Check(newVendor(o, k.facts.BaseURL).Options); err != nil {
		return nil, fmt.Errorf("provider %s: %w", name, err)
	}
	return k.make(o), nil
}

// FactsOf is what is known of the provider of that name.
func FactsOf(name string) (described.Facts, bool) {
	if d, ok := described.ByName(name); ok {
		return d.Facts(), true
	}
	k, ok := known[name]
	return k.facts.Clone(), ok
}
