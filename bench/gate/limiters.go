package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"backstop/breakerstore"
	"backstop/lead"
	"backstop/resilience"
)

const (
	nameGateLimit = "breakerstore"
	nameGCRA10    = "GCRA, burst 10"
	nameGCRA1     = "GCRA, burst 1"
)

// A limiter waits until a call may start.
type limiter interface {
	wait(ctx context.Context) error
	end(ctx context.Context) error
}

func newLimiter(name string, rdb *redis.Client) (limiter, error) {
	switch name {
	case nameGateLimit:
		g, err := breakerstore.New(rdb, []resilience.GateConfig{{
			Provider: provider, MaxWait: time.Minute, Limits: []resilience.Limit{{Rate: limitRate, Per: time.Second}},
		}}, breakerstore.Options{Logger: zerolog.Nop()})
		return gateLimiter{g}, err
	case nameGCRA10:
		return gcra{rdb, limitRate}, nil
	case nameGCRA1:
		return gcra{rdb, 1}, nil
	}
	return nil, fmt.Errorf("no limiter %q", name)
}

type gateLimiter struct{ *breakerstore.Gate }

func (g gateLimiter) wait(ctx context.Context) error {
	permit, err := g.Acquire(ctx, provider)
	if err == nil {
		permit.Done(resilience.Result{Class: lead.ClassOK})
	}
	return err
}

func (g gateLimiter) end(ctx context.Context) error { return g.Shutdown(ctx) }

// gcra is the generic cell rate algorithm as limiters on Redis commonly run it
// (ITU-T I.371; redis_rate and redis-cell): one key holds the theoretical arrival
// time; who is refused is told how long to wait and asks again.
type gcra struct {
	rdb   *redis.Client
	burst int
}

var gcraScript = redis.NewScript(`
local T = redis.call('TIME')
local now = tonumber(T[1]) * 1000000 + tonumber(T[2])
local every, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
local allow = tat + every - burst * every
if allow > now then return allow - now end
redis.call('SET', KEYS[1], string.format('%.0f', tat + every), 'PX', 60000)
return 0`)

func (l gcra) wait(ctx context.Context) error {
	for {
		micros, err := gcraScript.Run(ctx, l.rdb, []string{"gcra"}, time.Second.Microseconds()/limitRate, l.burst).Int64()
		if err != nil || micros == 0 {
			return err
		}
		select {
		case <-time.After(time.Duration(micros) * time.Microsecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (gcra) end(context.Context) error { return nil }
