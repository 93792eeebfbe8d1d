package providers

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	second = time.Second
	minute = time.Minute
)

// A Limit is a rate limit that a vendor states: at most Rate calls in any window
// of the length Per.
type Limit struct {
	Rate int
	Per  time.Duration
}

// Facts are what is known of a provider without being configured.
type Facts struct {
	BaseURL   string   // the vendor's own
	KeyEnv    string   // the environment variable that usually holds the key
	Limits    []Limit  // the vendor's, for one key
	Endpoints []string // every Endpoint that a Call may have; sorted
}

// clone shares nothing with f, so that nobody can change what is known.
func (f Facts) clone() Facts {
	f.Limits, f.Endpoints = slices.Clone(f.Limits), slices.Clone(f.Endpoints)
	return f
}

// known has every provider with code of its own. The others that can be named
// without a description are the shipped ones ([Shipped]).
var known = map[string]struct {
	make  func(Options) Provider
	facts Facts
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
	names = append(names, Shipped()...)
	slices.Sort(names)
	return names
}

// New makes the provider of that name. It fails for a name that is not known and
// for options with which no request could be made.
func New(name string, o Options) (Provider, error) {
	if d, ok := shipped()[name]; ok {
		return d.New(o)
	}
	k, ok := known[name]
	if !ok {
		return nil, fmt.Errorf("unknown provider %q: use one of %s", name, strings.Join(Names(), ", "))
	}
	if err := checkOptions(newVendor(o, k.facts.BaseURL).Options); err != nil {
		return nil, fmt.Errorf("provider %s: %w", name, err)
	}
	return k.make(o), nil
}

// FactsOf is what is known of the provider of that name.
func FactsOf(name string) (Facts, bool) {
	if d, ok := shipped()[name]; ok {
		return d.Facts(), true
	}
	k, ok := known[name]
	return k.facts.clone(), ok
}

// Why a provider has no call to make.
const (
	noEmail      = "has no email address"
	nothingToAdd = "nothing is missing that it could tell"
)
