package chaos

import (
	"fmt"
	"testing"
	"time"

	"backstop/intake"
	"backstop/testkit"
	"backstop/testkit/fleet"
)

func TestAnEnqueueKilledInMidFileIsCompletedByTheNext(t *testing.T) {
	play(t, scenario{
		Name: "enqueue killed in mid-file, run again", Seed: 80, Faults: size(20, 2), Replicas: 1, Slots: 32,
		Inject: func(r *run) {
			for i := 0; r.faults < r.spec.Faults && i < 2*r.spec.Faults; i++ {
				r.killEnqueue(fmt.Sprintf("F%02d", i), 2000)
			}
		},
	})
}

// killEnqueue kills enqueue while it accepts a file of n leads, at random, and runs
// it again.
func (r *run) killEnqueue(prefix string, n int) {
	r.t.Helper()
	file := r.Write(prefix+".csv", r.csv(prefix, n))
	had := r.inLedger()
	killAt := had + 1 + r.rand.IntN(n/2)
	p := r.Start(fleet.Enqueue, "file", file, "--json")
	testkit.Eventually(r.t, time.Minute, "enqueue is at work", func() bool { return r.inLedger() >= killAt })
	p.Kill()
	if got := r.inLedger() - had; got < n {
		r.faults++ // it was in the middle
	}
	sum := fleet.Decode[intake.Summary](r.t, r.Run(0, fleet.Enqueue, "file", file, "--json"))
	if sum.Read != int64(n) || sum.Accepted+sum.Duplicate != int64(n) {
		r.t.Errorf("the second run: %+v", sum)
	}
	r.accepted += n
	if got := r.inLedger() - had; got != n {
		r.t.Errorf("%d leads are in the ledger after both runs, not %d", got, n)
	}
	testkit.Eventually(r.t, 2*time.Minute, "most leads are settled", func() bool { return r.left() < n/2 })
}

// inLedger is how many leads the ledger has.
func (r *run) inLedger() int {
	r.t.Helper()
	c, ok := r.counts()
	if !ok {
		return 0 // it is being created
	}
	return int(c.Accepted)
}
