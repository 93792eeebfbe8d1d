package tasks

import (
	"time"

	"backstop/lead"
)

// A Path says how a lead came to its outcome.
type Path string

// The paths.
const (
	PathDirect   Path = "direct"   // without a retry
	PathRetried  Path = "retried"  // after at least one retry
	PathFallback Path = "fallback" // settled by the fallback task
)

// A Settlement is what an [Observer] learns of an outcome.
type Settlement struct {
	Status      lead.Status
	Path        Path
	Retried     bool          // at least one retry was made, whatever the path
	First       bool          // the lead had no outcome before
	SinceStart  time.Duration // from a worker taking the lead to its outcome
	SinceAccept time.Duration // from its acceptance
}

// An Observer counts what happens. Its methods must not block.
type Observer interface {
	Trail(lead.TrailEntry)         // each call, skip and fallback
	Retry(provider string)         // a retry was scheduled
	Snooze()                       // a lead was put back without a failure
	Settled(Settlement)            // an outcome was written
	Rescued(n int, dropped string) // the reconciler put n leads back: "enrich" or "fallback"
	Panicked(provider string)      // a provider's client panicked
}

type nobody struct{}

func (nobody) Trail(lead.TrailEntry) {}
func (nobody) Retry(string)          {}
func (nobody) Snooze()               {}
func (nobody) Settled(Settlement)    {}
func (nobody) Rescued(int, string)   {}
func (nobody) Panicked(string)       {}
