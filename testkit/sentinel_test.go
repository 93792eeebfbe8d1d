package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestAFailoverLosesWhatTheReplicaLagsBehind(t *testing.T) {
	s := Sentinel(t)
	old := s.Master()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	set := func(key string) {
		t.Helper()
		if err := s.Master().Client().Set(ctx, key, "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("before")
	// The replica has it when it has acknowledged it (WAIT 1).
	if err := old.Client().Do(ctx, "WAIT", 1, 5000).Err(); err != nil {
		t.Fatal(err)
	}
	lagging := make(chan error, 1)
	client := old.Client()
	go func() {
		// Redis ends the replica's connection when the lag begins.
		replicas, err := connectedReplicas(ctx, client)
		for ; err == nil && replicas != "0"; replicas, err = connectedReplicas(ctx, client) {
		}
		if err == nil {
			err = client.Set(ctx, "during", "x", 0).Err()
		}
		lagging <- err
	}()
	s.Failover(time.Second)
	if err := <-lagging; err != nil {
		t.Fatal(err)
	}
	if s.Master() == old {
		t.Fatal("the master is the old one")
	}
	for key, want := range map[string]int64{"before": 1, "during": 0} {
		if got := s.Master().Client().Exists(ctx, key).Val(); got != want {
			t.Errorf("of what was written %s the lag, the new master has %d, want %d", key, got, want)
		}
	}
	set("after")
	if err := s.Master().Client().Do(ctx, "WAIT", 1, 5000).Err(); err != nil {
		t.Errorf("the old master did not come back as a replica: %v", err)
	}
}

func connectedReplicas(ctx context.Context, c *redis.Client) (string, error) {
	info, err := c.InfoMap(ctx, "replication").Result()
	return info["Replication"]["connected_slaves"], err
}
