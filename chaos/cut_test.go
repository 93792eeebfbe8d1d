package chaos

import (
	"testing"
	"time"

	"backstop/testkit"
)

// Handlers return while Redis is away, so that their acknowledgements are lost.
func TestACutFromRedisAsHandlersReturnLosesNothing(t *testing.T) {
	play(t, scenario{
		Name: "Redis cut for 4 to 8 s as handlers return", Seed: 20, Faults: size(50, 1),
		Leads: size(900, 80), Replicas: 2, Proxied: []target{toRedis},
		Script: "latency: {min: 1s, max: 3s}\n", Env: []string{"BACKSTOP_PROVIDERS__CLEARBIT__TIMEOUT=5s"},
		Inject: func(r *run) { cuts(r, 4*time.Second, 8*time.Second) },
	})
}

// asynq's leases last 30 s: all of them run out.
func TestACutFromRedisLongerThanTheLeaseLosesNothing(t *testing.T) {
	play(t, scenario{
		Name: "Redis cut for 40 s, longer than the lease", Seed: 21, Faults: size(5, 1),
		Leads: size(110, 60), Replicas: 2, Proxied: []target{toRedis},
		Script: "latency: {min: 1s, max: 3s}\n", Env: []string{"BACKSTOP_PROVIDERS__CLEARBIT__TIMEOUT=5s"},
		Inject: func(r *run) { cuts(r, 40*time.Second, 40*time.Second) },
	})
}

// cuts cuts the workers off Redis, each time with calls under way.
func cuts(r *run, least, most time.Duration) {
	r.t.Helper()
	r.each(r.spec.Replicas, 300*time.Millisecond, 1500*time.Millisecond, func() {
		testkit.Eventually(r.t, time.Minute, "calls are under way", func() bool { return r.open() >= r.spec.Slots/2 || r.left() == 0 })
		r.proxies[toRedis].Cut()
		r.pause(least, most)
		r.proxies[toRedis].Restore()
	})
}
