package chaos

import (
	"testing"
	"time"

	"backstop/testkit"
)

func TestAFailoverToAReplicaThatLagsLosesNothing(t *testing.T) {
	var group *testkit.SentinelGroup
	play(t, scenario{
		Name: "Sentinel failover with a replica that lags", Seed: 110, Faults: size(10, 1),
		Leads: size(5500, 250), Replicas: 2, Script: slow,
		Bring: func(t *testing.T) string { group = testkit.Sentinel(t); return group.URL() },
		Inject: func(r *run) {
			r.each(2, 500*time.Millisecond, 2*time.Second, func() { group.Failover(2 * time.Second) })
		},
	})
}
