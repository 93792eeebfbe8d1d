package chain

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"backstop/lead"
	"backstop/providers"
)

// A Cache holds the answers that providers gave before. A chain that has one makes no
// call whose answer is known, or is being got for another lead right now.
type Cache interface {
	// GetOrLease returns the entry for a key, which costs neither a slot of the gate nor
	// a call; or a Lease, with which the caller makes the call.
	//
	// While another caller holds the lease GetOrLease waits for its answer, no longer
	// than the lookup's MaxWait; after that it returns a Lease all the same. The error
	// is ctx's own; a cache that cannot be reached is none.
	GetOrLease(ctx context.Context, l Lookup) (*Entry, Lease, error)
}

// ErrOtherSecret is the error of forgetting a person by somebody who has another
// secret than those that fill the cache, and can therefore not find their entries. What
// could be found was removed; to try again finds no more.
var ErrOtherSecret = errors.New("answers are cached under another secret, too, and cannot be found: use the secret of the workers " +
	"(BACKSTOP_SECRET, cache.secret_env or cache.secret_file); what was cached under a secret that was replaced ends with its age")

// A Lease is the right to make one call and to cache its answer.
type Lease interface {
	// Fill caches the answer, if it is final, before it returns, and lets those who wait
	// for it go on. It goes on when ctx ends, for a bounded time.
	Fill(ctx context.Context, a providers.Answer)
	// Release gives a lease back that was not filled. Otherwise it does nothing.
	Release(ctx context.Context)
}

// A Key names an answer: calls with equal keys have equal answers.
type Key struct {
	Provider, Endpoint string
	Subject, Variant   string // the call's
}

// A Lookup says which entry is wanted, and of which kind.
type Lookup struct {
	Key

	// Ticket is what the lead itself has to ask for a pending answer with. A cached one
	// that is still pending is then no answer to it.
	Ticket string
	// NegativesSince is the time before which a negative answer is not used: a
	// replay is made to find out what was not known then.
	NegativesSince time.Time
	// MaxWait is the longest time to wait for a call that somebody else makes.
	MaxWait time.Duration
}

// An Entry is a cached answer.
type Entry struct {
	providers.Answer
	At time.Time // when it was given
}

// NoLease is the lease on an answer that nobody caches.
type NoLease struct{}

// Fill implements [Lease].
func (NoLease) Fill(context.Context, providers.Answer) {}

// Release implements [Lease].
func (NoLease) Release(context.Context) {}

// cachedAnswer begins the detail of an answer from the cache. Trails that were stored
// by earlier versions have it, too.
const cachedAnswer = "kept answer, "

// at is the entry's answer as the trail shows it: "kept answer, 12s old".
func (e *Entry) at(now time.Time) providers.Answer {
	a := e.Answer
	detail := cachedAnswer + max(now.Sub(e.At), 0).Truncate(time.Second).String() + " old"
	if a.Detail != "" {
		detail += ": " + a.Detail
	}
	a.Detail = detail
	return a
}

// IsCached reports whether an entry of a trail is an answer from the cache, for
// which no call was made.
func IsCached(e lead.TrailEntry) bool { return strings.HasPrefix(e.Detail, cachedAnswer) }

// Subjects are the names under which answers about a lead's person may be cached: by
// what the lead came with, by what its progress holds, and by a profile that was
// found. The latter two may be nil.
func Subjects(l lead.Lead, progress []byte, found lead.Profile) []string {
	subjects := append(providers.Subjects(l), providers.Subjects(lead.Facts{Profile: found}.Known(l))...)
	var p Progress
	if len(progress) > 0 && json.Unmarshal(progress, &p) == nil { // else nothing that can be read was found
		subjects = append(subjects, providers.Subjects(p.Facts.Known(l))...)
		for _, email := range p.Found {
			subjects = append(subjects, lead.EmailKey(email))
		}
	}
	slices.Sort(subjects)
	return slices.Compact(subjects)
}
