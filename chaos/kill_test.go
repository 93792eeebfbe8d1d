package chaos

import (
	"testing"
	"time"

	"backstop/testkit/fleet"
)

func TestWorkersKilledAtRandomLoseNothing(t *testing.T) {
	play(t, scenario{
		Name: "kill -9 of workers at random", Seed: 1, Faults: size(100, 5),
		Leads: size(5000, 400), Replicas: 3, Slots: 6, Kind: fleet.KindOf,
		Script: "latency: {min: 200ms, max: 400ms}\n" + fleet.TroubleFaults,
		Inject: func(r *run) {
			workers := r.All()
			r.each(1, 300*time.Millisecond, 1200*time.Millisecond, func() {
				i := r.rand.IntN(len(workers))
				workers[i].Kill()
				workers[i] = r.Workers(1)[0]
			})
		},
	})
}
