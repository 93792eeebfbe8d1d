package chaos

import (
	"context"
	"strings"
	"testing"
	"time"

	"backstop/testkit"
)

// slow makes calls last long enough that a fault finds some under way.
const slow = "latency: {min: 150ms, max: 400ms}\n"

func TestAKilledRedisLosesNothing(t *testing.T) {
	t.Parallel()
	for i, tt := range []struct {
		name   string
		option testkit.RedisOption
	}{{"everysec", testkit.WithAOFEverySec()}, {"always", testkit.WithAOFAlways()}} {
		t.Run("with fsync "+tt.name, func(t *testing.T) {
			play(t, scenario{
				Name: "Redis kill -9 and restart, " + tt.name, Seed: 40 + uint64(i), Faults: size(20, 2),
				Leads: size(2000, 300), Replicas: 2, Redis: []testkit.RedisOption{tt.option}, Script: slow,
				Inject: func(r *run) {
					r.each(2, 500*time.Millisecond, 2*time.Second, func() {
						r.Redis.Kill()
						r.pause(0, time.Second)
						r.Redis.Restart()
					})
				},
			})
		})
	}
}

func TestAnAppendOnlyFileThatLostItsEndLosesNothing(t *testing.T) {
	play(t, scenario{
		Name: "Redis restart from an AOF that lost its last 2 s", Seed: 42, Faults: size(10, 2),
		Leads: size(1800, 300), Replicas: 2, Script: slow,
		Redis: []testkit.RedisOption{testkit.WithAOFEverySec(), testkit.WithDirective("auto-aof-rewrite-percentage", "0")},
		Inject: func(r *run) {
			r.each(2, 300*time.Millisecond, time.Second, func() {
				mark := r.Redis.MarkAOF()
				r.wait(2 * time.Second)
				r.Redis.Kill()
				if r.Redis.LoseSince(mark) == 0 {
					r.t.Error("nothing was written in 2 s, and nothing lost")
				}
				r.Redis.Restart()
			})
		},
	})
}

func TestAFlushedRedisLosesNothing(t *testing.T) {
	play(t, scenario{
		Name: "FLUSHALL in mid-run", Seed: 50, Faults: size(5, 1), Leads: size(1200, 300), Replicas: 2, Script: slow,
		Inject: func(r *run) {
			r.each(2, time.Second, 3*time.Second, r.Redis.FlushAll)
		},
	})
}

func TestARedisThatRefusesLosesNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		begin, end []string // commands, the latter after some seconds
	}{
		{"SCRIPT FLUSH", []string{"SCRIPT", "FLUSH"}, nil},
		{"READONLY", []string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}},
		{"OOM with noeviction", []string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			play(t, scenario{
				Name: tt.name + " in mid-run", Seed: 51 + uint64(i), Faults: size(5, 1), Leads: size(1000, 200), Replicas: 2, Script: slow,
				Inject: func(r *run) {
					r.each(2, 500*time.Millisecond, 2*time.Second, func() {
						r.redisDo(tt.begin)
						if tt.end != nil {
							r.pause(2*time.Second, 5*time.Second)
							r.redisDo(tt.end)
						}
					})
				},
			})
		})
	}
}

// A Redis with much data says LOADING to every command for a while after its start.
func TestARedisThatIsLoadingLosesNothing(t *testing.T) {
	play(t, scenario{
		Name: "LOADING in mid-run", Seed: 54, Faults: size(5, 1), Leads: size(1000, 200), Replicas: 2, Script: slow,
		// It answers while it loads once in 2 MB of data; the ballast makes that often.
		Redis: []testkit.RedisOption{testkit.WithDirective("key-load-delay", "3000"), testkit.WithDirective("rdbcompression", "no")},
		Inject: func(r *run) {
			ballast := strings.Repeat("x", 1<<20)
			r.each(2, 500*time.Millisecond, 2*time.Second, func() {
				for i := range 40 {
					r.redisDo([]string{"SET", "ballast" + string(rune('A'+i)), ballast})
				}
				r.redisDo([]string{"SAVE"})
				r.Redis.Kill()
				r.Redis.Restart() // when it has loaded
			})
		},
	})
}

// redisDo gives Redis one command.
func (r *run) redisDo(command []string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	args := make([]any, len(command))
	for i, a := range command {
		args[i] = a
	}
	if r.redis == nil {
		r.redis = r.Redis.Client()
	}
	if err := r.redis.Do(ctx, args...).Err(); err != nil {
		r.t.Fatalf("%.80v: %v", command, err)
	}
}
