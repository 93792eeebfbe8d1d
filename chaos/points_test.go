package chaos

import (
	"fmt"
	"testing"
	"time"

	"backstop/testkit"
	"backstop/testkit/fleet"
)

// The points are told from outside: a proxy holds what the worker would do next, and
// the ledger and the sandbox show how far it has come.
func TestAWorkerKilledAtANamedPointLosesNothing(t *testing.T) {
	t.Parallel()
	const steady = "latency: {min: 300ms, max: 300ms}\n"
	tests := []struct {
		name    string
		proxied []target
		ledger  string
		kill    func(r *run, kill func())
	}{
		{"after the answer", []target{toLedger}, fleet.Postgres, afterTheAnswer},
		{"after the settle", nil, fleet.SQLite, afterTheSettle},
		{"before the acknowledgement", []target{toRedis}, fleet.SQLite, beforeTheAcknowledgement},
	}
	t.Run("before the call", func(t *testing.T) {
		play(t, scenario{
			Name: "kill -9 before the call", Seed: 10, Faults: size(20, 2), Leads: size(200, 60), Slots: 4,
			Script: steady, Proxied: []target{toSandbox}, Inject: beforeTheCall,
		})
	})
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			play(t, scenario{
				Name: "kill -9 " + tt.name, Seed: 11 + uint64(i), Faults: size(20, 2), Leads: size(400, 100), Replicas: 1, Slots: 4,
				Script: steady, Ledger: tt.ledger, Proxied: tt.proxied,
				Inject: func(r *run) {
					for r.faults < r.spec.Faults {
						w := r.All()[len(r.All())-1]
						testkit.Eventually(r.t, time.Minute, "calls are under way", func() bool { return r.open() > 0 || r.left() == 0 })
						if r.left() == 0 {
							return
						}
						tt.kill(r, w.Kill)
						r.release()
						r.Workers(1)
					}
				},
			})
		})
	}
}

// beforeTheCall kills workers whose requests are on their way and never arrive: none
// is paid, so none may be repeated. None gets further, until the last one.
func beforeTheCall(r *run) {
	for range r.spec.Faults {
		before := r.active()
		r.proxies[toSandbox].Delay(time.Hour)
		w := r.Workers(1)[0]
		testkit.Eventually(r.t, time.Minute, "the worker has taken leads", func() bool { return r.active() > before })
		r.pause(0, 200*time.Millisecond)
		w.Kill()
		r.faults++
		r.release()
	}
	r.Workers(1)
}

// release drops what the proxies held back, and lets all pass again.
func (r *run) release() {
	r.t.Helper()
	for _, p := range r.proxies {
		p.Cut()
		p.Restore()
	}
}

// afterTheAnswer kills a worker that holds paid answers which it cannot write down.
func afterTheAnswer(r *run, kill func()) {
	r.proxies[toLedger].Delay(time.Hour)
	testkit.Eventually(r.t, time.Minute, "the calls are answered", func() bool { return r.open() == 0 })
	before := r.settled()
	kill()
	r.struck(1, before)
}

// afterTheSettle kills a worker in the moment in which an outcome is in the ledger.
func afterTheSettle(r *run, kill func()) {
	before := r.settled()
	testkit.Eventually(r.t, time.Minute, "a lead is settled", func() bool { return r.settled() > before })
	kill()
	r.struck(1, before)
}

// beforeTheAcknowledgement kills a worker that has settled all its leads and could
// tell Redis of none. No call may be repeated.
func beforeTheAcknowledgement(r *run, kill func()) {
	r.proxies[toRedis].Delay(time.Hour)
	testkit.Eventually(r.t, time.Minute, "what was asked is settled", func() bool { return r.open() == 0 && r.settled() >= r.asked() })
	kill()
	r.faults++
}

// The fourth call about a lead is the last that its retries allow.
func TestAWorkerKilledOnTheLastAttemptLosesNothing(t *testing.T) {
	const leads = 4
	play(t, scenario{
		Name: "kill -9 on the last attempt", Seed: 15, Faults: size(20, 1), Replicas: 1, Slots: leads,
		Kind: func(int) string { return "last" },
		Script: `
faults:
  - {provider: clearbit, match: "last*", calls: 3, status: 503}
  - {provider: clearbit, match: "last*", calls: 4, kind: slow, delay: 1500ms}
`,
		Inject: func(r *run) {
			for i := range r.spec.Faults {
				r.enqueue(fmt.Sprintf("L%02d", i), leads)
				testkit.Eventually(r.t, time.Minute, "a last call is under way", func() bool { return r.open() >= leads/2 })
				before := r.settled()
				r.All()[len(r.All())-1].Kill()
				r.struck(1, before)
				r.Workers(1)
			}
		},
	})
}
