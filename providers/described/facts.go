package described

import (
	"backstop/resilience"
	"slices"
)

// Facts are what is known of a provider without being configured.
type Facts struct {
	BaseURL   string             // the vendor's own
	KeyEnv    string             // the environment variable that usually holds the key
	Limits    []resilience.Limit // the vendor's, for one key
	Endpoints []string           // every Endpoint that a call may have; sorted
}

// Clone shares nothing with f, so that nobody can change what is known.
func (f Facts) Clone() Facts {
	f.Limits, f.Endpoints = slices.Clone(f.Limits), slices.Clone(f.Endpoints)
	return f
}
