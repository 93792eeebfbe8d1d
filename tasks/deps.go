package tasks

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"backstop/accept"
	"backstop/chain"
	"backstop/lead"
	"backstop/ledger"
	"backstop/queue"
)

// Deps are what the handlers work with.
type Deps struct {
	Ledger   *ledger.Ledger
	Queue    *queue.Queue
	Chain    *chain.Chain // asked by lead:enrich; its gate is guarded by Freeze
	Fallback *chain.Chain // asked by lead:fallback; the same
	Freeze   *FreezeDetector
	Log      zerolog.Logger
	Observer Observer
	Now      func() time.Time // nil: time.Now

	// Forget removes the cached answers about people. It may be nil: none are cached.
	Forget func(ctx context.Context, subjects ...string) (int, error)
}

// An Observer counts what happens. Its methods must not block.
type Observer interface {
	Trail(lead.TrailEntry) // each call, skip and fallback
	Retry(provider string) // a retry was scheduled
	Snooze()               // a lead was put back without a failure
	// Settled is called for each outcome; done says whether it was applied.
	Settled(s ledger.Settlement, done ledger.Settled, acceptedAt lead.Time)
	Panicked(provider string) // a provider's client panicked
}

// handlers run the two kinds of task.
type handlers struct {
	Deps
	replays    *accept.Enqueuer
	quarantine chan struct{} // holds one: the lead that runs alone
}

func newHandlers(d Deps) *handlers {
	if d.Now == nil {
		d.Now = time.Now
	}
	return &handlers{
		Deps: d, quarantine: make(chan struct{}, 1),
		replays: accept.New(d.Ledger, d.Queue, d.Log),
	}
}

// A job is one run of one task.
type job struct {
	payload  queue.Payload
	record   ledger.Record
	progress *chain.Progress
	log      zerolog.Logger
}
