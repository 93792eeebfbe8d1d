package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// The providers that the sandbox imitates.
const (
	Clearbit = "clearbit"
	Hunter   = "hunter"
	PDL      = "pdl"
)

// vendors are the imitations.
var vendors = []vendor{clearbit{}, hunter{}, pdl{}}

// Providers lists them.
func Providers() []string {
	names := make([]string, len(vendors))
	for i, v := range vendors {
		names[i] = v.name()
	}
	return names
}

// A Script says how the sandbox behaves. The zero Script is APIs that know
// everybody, accept any key, have no limit and no faults.
type Script struct {
	// Seed changes who is known, who is hit by a fault and how long answers take.
	Seed uint64 `yaml:"seed,omitempty"`
	// Latency is how long an answer takes.
	Latency Latency `yaml:"latency,omitempty"`
	// Keys are the accepted keys by provider; without one, any key will do.
	Keys map[string]string `yaml:"keys,omitempty"`
	// Limits are the rate limits by provider.
	Limits map[string]Limit `yaml:"limits,omitempty"`
	// Known is the share of people that a provider knows; without one, 1.
	Known map[string]float64 `yaml:"known,omitempty"`
	// Halves is the share of the known people of whom a provider gives only the
	// person or only the company, the other being null.
	Halves map[string]float64 `yaml:"halves,omitempty"`
	// Faults are tried in order; the first that hits a call decides its answer.
	Faults []Fault `yaml:"faults,omitempty"`
}

// Latency is a range of times, from which each call has one of its own.
type Latency struct {
	Min time.Duration `yaml:"min,omitempty"`
	Max time.Duration `yaml:"max,omitempty"`
}

// What happens to a call beyond the limit.
const (
	EnforceAnswer = "429"  // the vendor's own "too fast": 429, but 403 at Hunter
	EnforceDrop   = "drop" // no answer at all
	EnforceNone   = "none" // it is served, and counted as over the limit
)

// A Limit allows Rate calls in any window of the length Per.
type Limit struct {
	Rate    int           `yaml:"rate" json:"rate"`
	Per     time.Duration `yaml:"per" json:"per"`
	Enforce string        `yaml:"enforce,omitempty" json:"enforce,omitempty"` // "": EnforceAnswer
}

// ParseScript reads a script from YAML, of which JSON is a part. A key that it
// does not know is an error, and so is a value that makes no sense.
func ParseScript(text []byte) (Script, error) {
	var s Script
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&s); err != nil && !errors.Is(err, io.EOF) { // EOF: an empty script
		return Script{}, fmt.Errorf("read sandbox script: %w", err)
	}
	if err := d.Decode(new(Script)); !errors.Is(err, io.EOF) {
		return Script{}, errors.New("read sandbox script: there is more than one document")
	}
	if err := s.Validate(); err != nil {
		return Script{}, err
	}
	return s, nil
}

// Text is the script as YAML, which ParseScript reads back: for a sandbox in
// another process.
func (s Script) Text() ([]byte, error) {
	text, err := yaml.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write sandbox script: %w", err)
	}
	return text, nil
}

// Validate reports the first value that makes no sense.
func (s Script) Validate() error {
	if s.Latency.Min < 0 || s.Latency.Max != 0 && s.Latency.Max < s.Latency.Min {
		return errors.New("sandbox script: latency must be from 0 <= min to max")
	}
	if err := errors.Join(checkProviders("keys", s.Keys), checkProviders("limits", s.Limits),
		checkProviders("known", s.Known), checkProviders("halves", s.Halves)); err != nil {
		return err
	}
	for name, l := range s.Limits {
		if l.Rate < 1 || l.Per <= 0 {
			return fmt.Errorf("sandbox script: limits of %s: rate and per must be positive", name)
		}
		if !slices.Contains([]string{"", EnforceAnswer, EnforceDrop, EnforceNone}, l.Enforce) {
			return fmt.Errorf(`sandbox script: limits of %s: enforce must be "429", drop or none`, name)
		}
	}
	for name, shares := range map[string]map[string]float64{"known": s.Known, "halves": s.Halves} {
		for provider, share := range shares {
			if !isShare(share) {
				return fmt.Errorf("sandbox script: %s of %s must be from 0 to 1", name, provider)
			}
		}
	}
	for i, f := range s.Faults {
		if err := f.validate(); err != nil {
			return fmt.Errorf("sandbox script: fault %d: %w", i+1, err)
		}
	}
	return nil
}

func checkProviders[V any](key string, m map[string]V) error {
	for name := range m {
		if !slices.Contains(Providers(), name) {
			return fmt.Errorf("sandbox script: %s: unknown provider %q", key, name)
		}
	}
	return nil
}

func isShare(f float64) bool { return f >= 0 && f <= 1 } // NaN is none

// IsKnown reports whether the provider knows the person with the address, or
// whatever else a call can be about ([Server.CallsFor]).
func (s Script) IsKnown(provider, subject string) bool {
	share, ok := s.Known[provider]
	return !ok || s.chance("known", provider, subject) < share
}

// half is which half of a known person a provider keeps to itself: "person",
// "company" or "".
func (s Script) half(provider, email string) string {
	c, share := s.chance("halves", provider, email), s.Halves[provider]
	switch {
	case c < share/2:
		return "person"
	case c < share:
		return "company"
	}
	return ""
}

// latency is how long the n-th call about a person takes.
func (s Script) latency(provider, email string, n int) time.Duration {
	span := s.Latency.Max - s.Latency.Min
	if span <= 0 {
		return s.Latency.Min
	}
	c := s.chance(fmt.Sprint("latency", n), provider, email)
	return s.Latency.Min + time.Duration(c*float64(span))
}

// chance is a number from 0 to below 1 that follows from its arguments and the
// seed. Different purposes have nothing to do with each other.
func (s Script) chance(purpose, provider, email string) float64 {
	return float64(hash(s.Seed, purpose, provider, key(email))>>11) / (1 << 53)
}
