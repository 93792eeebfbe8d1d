package breakerstore_test

import (
	"maps"
	"testing"
)

// The suite runs on a real Redis, on a cluster, and on the one of embedded mode.
func TestGate(t *testing.T) {
	suite := maps.Clone(circuitSuite)
	maps.Copy(suite, limitSuite)
	maps.Copy(suite, storeSuite)
	for kind, start := range map[string]func(*testing.T) server{"redis": realRedis, "miniredis": miniRedis} {
		t.Run(kind, func(t *testing.T) {
			for name, test := range suite {
				t.Run(name, func(t *testing.T) { test(t, start(t)) })
			}
		})
	}
	t.Run("cluster", func(t *testing.T) {
		cluster := clusterRedis(t) // it takes two seconds to start
		for name, test := range suite {
			t.Run(name, func(t *testing.T) {
				if err := cluster.client(t).FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				test(t, cluster)
			})
		}
	})
}
