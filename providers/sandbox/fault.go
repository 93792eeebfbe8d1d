package sandbox

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// A Kind is what a fault does to a call.
type Kind string

// The kinds of faults.
const (
	KindStatus   Kind = "status"   // an answer with Status, and Body or what the vendor says with that status
	KindHang     Kind = "hang"     // no answer, and the connection stays open until the client goes
	KindDrop     Kind = "drop"     // the same, counted as dropped, as an overloaded free plan does
	KindClose    Kind = "close"    // hangs up without an answer
	KindReset    Kind = "reset"    // resets the connection
	KindTruncate Kind = "truncate" // half of the right body, then hangs up
	KindStall    Kind = "stall"    // half of the right body, and no more until the client goes
	KindHTML     Kind = "html"     // a page of HTML with Status, 502 if it is 0
	KindAppend   Kind = "append"   // the right answer with HTML behind it, as a proxy leaves it
	KindSlow     Kind = "slow"     // the right answer, after Delay
)

var kinds = []Kind{KindStatus, KindHang, KindDrop, KindClose, KindReset, KindTruncate, KindStall, KindHTML, KindAppend, KindSlow}

// A Fault is trouble with some of a provider's calls. Every condition that is
// given must hold for it to hit a call.
type Fault struct {
	Provider string `yaml:"provider,omitempty"` // "": all
	Endpoint string `yaml:"endpoint,omitempty"` // "combined/find"; "": all

	From time.Duration `yaml:"from,omitempty"` // since the start of the script
	To   time.Duration `yaml:"to,omitempty"`   // 0: for ever

	// Share of the people that are hit; 0: all. Of two faults with one provider and
	// unequal shares the greater hits everybody whom the smaller hits.
	Share float64 `yaml:"share,omitempty"`
	// Match is a glob as of path.Match on the address, or on its local part if
	// there is no "@" in it. A call that has no address is matched by what it asks
	// about instead, in the spelling of [Server.CallsFor].
	Match string `yaml:"match,omitempty"`
	// Calls is how many of a person's calls to the provider are hit, from the
	// first; 0: all.
	Calls int `yaml:"calls,omitempty"`

	Kind    Kind              `yaml:"kind,omitempty"` // "": KindStatus
	Status  int               `yaml:"status,omitempty"`
	Body    *string           `yaml:"body,omitempty"` // nil: the vendor's own; "": none
	Headers map[string]string `yaml:"headers,omitempty"`
	Wait    time.Duration     `yaml:"wait,omitempty"`  // sent as Retry-After, in whole seconds, rounded up
	Delay   time.Duration     `yaml:"delay,omitempty"` // before anything else happens
}

func (f Fault) validate() error {
	if f.Provider != "" && !slices.Contains(Providers(), f.Provider) {
		return fmt.Errorf("unknown provider %q", f.Provider)
	}
	if f.Kind != "" && !slices.Contains(kinds, f.Kind) {
		return fmt.Errorf("unknown kind %q", f.Kind)
	}
	if f.kind() == KindStatus && f.Status == 0 {
		return errors.New("has neither a kind nor a status")
	}
	if f.kind() == KindSlow && f.Delay == 0 {
		return errors.New("is slow without a delay")
	}
	if f.Status != 0 && (f.Status < 200 || f.Status > 599) {
		return errors.New("status must be from 200 to 599")
	}
	if !isShare(f.Share) || f.Calls < 0 || f.From < 0 || f.Wait < 0 || f.Delay < 0 || f.To != 0 && f.To <= f.From {
		return errors.New("share must be from 0 to 1, times and calls not negative, to after from")
	}
	if _, err := path.Match(f.Match, ""); err != nil {
		return fmt.Errorf("match: %w", err)
	}
	return nil
}

func (f Fault) kind() Kind {
	if f.Kind == "" {
		return KindStatus
	}
	return f.Kind
}

// fault is the first fault that hits the n-th call (from 1) about a person, made
// at a time since the start of the script.
func (s Script) fault(c call, at time.Duration) (Fault, bool) {
	for _, f := range s.Faults {
		if f.Provider != "" && f.Provider != c.provider || f.Endpoint != "" && f.Endpoint != c.endpoint {
			continue
		}
		if at < f.From || f.To != 0 && at >= f.To || f.Calls != 0 && c.nth > f.Calls {
			continue
		}
		if f.Share != 0 && s.chance("fault", c.provider, c.subject()) >= f.Share || !f.matches(c.subject()) {
			continue
		}
		return f, true
	}
	return Fault{}, false
}

func (f Fault) matches(subject string) bool {
	if f.Match == "" {
		return true
	}
	if !strings.Contains(f.Match, "@") {
		subject, _, _ = strings.Cut(subject, "@")
	}
	ok, err := path.Match(f.Match, subject)
	return ok && err == nil // validate has seen to the form
}
