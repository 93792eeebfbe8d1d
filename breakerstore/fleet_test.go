package breakerstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/sony/gobreaker/v2"

	"backstop/breakerstore"
	"backstop/lead"
	"backstop/resilience"
	"backstop/testkit"
)

const api = "hunter"

var (
	succeeded   = resilience.Result{Class: lead.ClassOK}
	failed      = resilience.Result{Class: lead.ClassTransient}
	cancelled   = resilience.Result{}
	rateLimited = resilience.Result{Class: lead.ClassRateLimited}
)

// A server is a Redis that the tests of this package run on.
type server struct {
	url     string
	cluster bool
}

func realRedis(t *testing.T) server { return server{url: testkit.Redis(t)} }

func miniRedis(t *testing.T) server {
	m := miniredis.RunT(t)
	return server{url: "redis://" + m.Addr() + "/0"}
}

// clusterRedis is a cluster of one node. It refuses what a bigger one would:
// commands and scripts on keys of different hash slots.
func clusterRedis(t *testing.T) server {
	r := testkit.RedisServer(t, testkit.WithDirective("cluster-enabled", "yes"))
	node := r.Client()
	if err := node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, "the cluster is up", func() bool {
		return strings.Contains(node.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
	})
	return server{url: r.URL(), cluster: true}
}

// client returns a client of the server, closed at the end of the test.
func (s server) client(t testing.TB) redis.UniversalClient {
	t.Helper()
	o, err := redis.ParseURL(s.url)
	if err != nil {
		t.Fatal(err)
	}
	var c redis.UniversalClient = redis.NewClient(o)
	if s.cluster {
		c = redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{o.Addr}})
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close client: %v", err)
		}
	})
	return c
}

// A replica is one gate with what its hook was told.
type replica struct {
	*breakerstore.Gate
	t    testing.TB
	name string

	mu   sync.Mutex
	told []resilience.Transition
}

// fleet starts n replicas of a gate for the provider api alone.
func (s server) fleet(t testing.TB, n int, cfg resilience.GateConfig, set ...func(*breakerstore.Options)) []*replica {
	t.Helper()
	cfg.Provider = api
	out := make([]*replica, n)
	for i := range out {
		r := &replica{t: t, name: fmt.Sprintf("replica-%d", i)}
		o := breakerstore.Options{
			Replica: r.name,
			Logger:  zerolog.Nop(),
			Hook: func(tr resilience.Transition) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.told = append(r.told, tr)
			},
			// The machine that runs the tests may be busy; what happens without Redis
			// has tests of its own.
			Timeout: 2 * time.Second,
		}
		for _, f := range set {
			f(&o)
		}
		var err error
		if r.Gate, err = breakerstore.New(s.client(t), []resilience.GateConfig{cfg}, o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.shutdown)
		out[i] = r
	}
	return out
}

func (r *replica) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := r.Shutdown(ctx); err != nil {
		r.t.Errorf("Shutdown: %v", err)
	}
}

func (r *replica) transitions() []resilience.Transition {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.told)
}

func (r *replica) acquire() resilience.Permit {
	r.t.Helper()
	p, err := r.Acquire(context.Background(), api)
	if err != nil {
		r.t.Fatalf("%s: Acquire: %v", r.name, err)
	}
	return p
}

// call makes calls that end with this result.
func (r *replica) call(n int, result resilience.Result) {
	r.t.Helper()
	for range n {
		r.acquire().Done(result)
	}
}

// refusal returns the refusal that Acquire must give.
func (r *replica) refusal() *resilience.Refusal {
	r.t.Helper()
	_, err := r.Acquire(context.Background(), api)
	var refusal *resilience.Refusal
	if !errors.As(err, &refusal) {
		r.t.Fatalf("%s: Acquire: %v, want a refusal", r.name, err)
	}
	return refusal
}

// refuses waits until the replica refuses for this reason, as it does once it
// has heard of it, and checks for how long.
func (r *replica) refuses(why resilience.Reason, after time.Duration) {
	r.t.Helper()
	r.soon("refuses: "+string(why), func() bool {
		p, err := r.Acquire(context.Background(), api)
		if err == nil {
			p.Done(cancelled)
			return false
		}
		var refusal *resilience.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != why {
			return false
		}
		if after < 0 {
			return refusal.RetryAt.IsZero()
		}
		left := time.Until(refusal.RetryAt)
		return left <= after+time.Second && left >= after-5*time.Second
	})
}

func (r *replica) soon(what string, holds func() bool) {
	r.t.Helper()
	testkit.Eventually(r.t, 10*time.Second, r.name+" "+what, holds)
}

func (r *replica) circuit() resilience.Circuit {
	r.t.Helper()
	all, err := r.Circuits(context.Background())
	if err != nil || len(all) != 1 {
		r.t.Fatalf("Circuits: %v, %v", all, err)
	}
	return all[0]
}

// sees waits until the replica's hook was told of this state last.
func (r *replica) sees(to gobreaker.State) {
	r.t.Helper()
	r.soon("sees "+to.String(), func() bool {
		told := r.transitions()
		return len(told) > 0 && told[len(told)-1].To == to
	})
}

// elapse waits for a time that Redis's own clock measures. There is no signal
// for it.
func elapse(d time.Duration) { <-time.After(d) }
