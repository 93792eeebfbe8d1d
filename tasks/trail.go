package tasks

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"backstop/chain"
	"backstop/lead"
	"backstop/resilience"
)

// armTimeout bounds the way to Redis and back.
const armTimeout = 3 * time.Second

// hooks log and count what happens in a walk of the chain, and arm the fallback.
func (h *handlers) hooks(j *job) chain.Hooks {
	hooks := h.fallbackHooks(j)
	hooks.Arm = func(ctx context.Context, deadline time.Time) bool {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), armTimeout)
		defer cancel()
		if _, err := h.Queue.ArmFallback(ctx, j.payload, deadline); err != nil {
			// The reconciler finds the lead if its task is lost as well.
			j.log.Warn().Err(err).Str("event", "arm").Msg("the fallback could not be scheduled")
			return false
		}
		return true
	}
	return hooks
}

// fallbackHooks are the hooks of a walk that needs no fallback.
func (h *handlers) fallbackHooks(j *job) chain.Hooks {
	return chain.Hooks{
		Trail: func(e lead.TrailEntry) { h.logTrail(j, e) },
		Panic: func(provider string, err *resilience.PanicError) {
			h.Observer.Panicked(provider)
			// The value may quote what the client was working on; the stack does not.
			j.log.Error().Str("event", "panic").Str("provider", provider).Type("value", err.Value).
				Bytes("stack", err.Stack).Msg("a provider's client panicked")
		},
	}
}

// logTrail logs and counts one entry of a trail.
func (h *handlers) logTrail(j *job, e lead.TrailEntry) {
	h.Observer.Trail(e)
	event, level := "call", zerolog.DebugLevel
	switch e.Class {
	case lead.ClassSkip:
		event, level = "skip", zerolog.InfoLevel
	case lead.ClassFallback:
		event, level = "fallback", zerolog.InfoLevel
	case lead.ClassTransient, lead.ClassRateLimited:
		level = zerolog.InfoLevel
	case lead.ClassAuth, lead.ClassQuotaExhausted, lead.ClassOurBug:
		level = zerolog.ErrorLevel
	}
	j.log.WithLevel(level).Str("event", event).Str("provider", e.Provider).Str("class", string(e.Class)).
		Int("status", e.Status).Int("attempt", e.Attempt).Str("detail", e.Detail).Int64("ms", e.Millis).Send()
}
