package breakerstore_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"backstop/breakerstore"
	"backstop/resilience"
	"backstop/testkit"
)

// checkLimit fails if more calls than allowed started in any sliding window.
func checkLimit(t *testing.T, l resilience.Limit, starts []time.Time) {
	t.Helper()
	starts = slices.SortedFunc(slices.Values(starts), time.Time.Compare)
	for i := l.Rate; i < len(starts); i++ {
		if gap := starts[i].Sub(starts[i-l.Rate]); gap < l.Per-slack {
			t.Errorf("%d calls within %s, against %s", l.Rate+1, gap, l)
		}
	}
}

// checkUse fails if too little of the limit was used. The calls before the
// first and after the last one could not be counted fairly.
func checkUse(t *testing.T, l resilience.Limit, starts []time.Time) {
	t.Helper()
	starts = slices.SortedFunc(slices.Values(starts), time.Time.Compare)
	n := len(starts)
	if n < 2 {
		t.Fatalf("%d calls", n)
	}
	rate := float64(n-1) / starts[n-1].Sub(starts[0]).Seconds()
	if part := rate * l.Per.Seconds() / float64(l.Rate); part < used {
		t.Errorf("%.1f %% of %s was used", 100*part, l)
	}
}

// checkFairness fails if a replica's part is too far from the mean.
func checkFairness(t *testing.T, counts []int) {
	t.Helper()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	mean := float64(sum) / float64(len(counts))
	for _, n := range counts {
		if math.Abs(float64(n)-mean) > uneven*mean {
			t.Errorf("calls by replica: %v", counts)
			return
		}
	}
}

// A counter counts the scripts that a client runs, and acquire.lua among them.
type counter struct{ all, acquire atomic.Int64 }

func (c *counter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			c.all.Add(1)
		}
		if args := cmd.Args(); len(args) > 1 && args[1] == breakerstore.AcquireSHA() {
			c.acquire.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// With 1, 3 and 10 replicas no sliding second holds more calls than allowed, the
// limit is used up, each replica gets its part, and a grant costs hardly more
// than one script.
func TestLimitHolds(t *testing.T) {
	limit := resilience.Limit{Rate: 10, Per: time.Second}
	const settled = 2500 * time.Millisecond // by then every replica knows how many there are
	for n, length := range map[int]time.Duration{1: 4 * time.Second, 3: 5 * time.Second, 10: 10 * time.Second} {
		t.Run(fmt.Sprintf("%d replicas", n), func(t *testing.T) {
			s := realRedis(t)
			var count counter
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			began := time.Now()
			var mu sync.Mutex
			var starts []time.Time
			counts := make([]int, n)
			var wg sync.WaitGroup
			for i := range n {
				rdb := s.client(t)
				rdb.AddHook(&count)
				gate, err := breakerstore.New(rdb, []resilience.GateConfig{{
					Provider: api, Limits: []resilience.Limit{limit}, MaxWait: time.Minute,
				}}, breakerstore.Options{Replica: fmt.Sprint(i), Timeout: 2 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup((&replica{Gate: gate, t: t}).shutdown)
				for range 48 / n {
					wg.Go(func() {
						for {
							p, err := gate.Acquire(ctx, api)
							now := time.Now()
							if err != nil {
								return
							}
							p.Done(succeeded)
							mu.Lock()
							starts = append(starts, now)
							if now.Sub(began) > settled {
								counts[i]++
							}
							mu.Unlock()
						}
					})
				}
			}
			elapse(settled + length)
			cancel()
			wg.Wait()
			checkLimit(t, limit, starts)
			checkUse(t, limit, starts)
			checkFairness(t, counts)
			if count.acquire.Load() < int64(len(starts)) {
				t.Fatalf("%d scripts for %d grants: they are not counted", count.acquire.Load(), len(starts))
			}
			// The calls in line when it ended had their slots for nothing.
			if scripts := float64(count.acquire.Load()-int64(2*n)) / float64(len(starts)); scripts > 1.1 {
				t.Errorf("%.2f scripts for each grant", scripts)
			}
		})
	}
}

// A good call of an unlimited provider asks Redis nothing.
func TestGoodCallAsksRedisNothing(t *testing.T) {
	s := realRedis(t)
	var count counter
	rdb := s.client(t)
	rdb.AddHook(&count)
	gate, err := breakerstore.New(rdb, []resilience.GateConfig{{Provider: api}}, breakerstore.Options{Poll: time.Hour, Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{Gate: gate, t: t}
	t.Cleanup(r.shutdown)
	r.call(1, succeeded)
	before := count.all.Load()
	if before == 0 {
		t.Fatal("scripts are not counted")
	}
	r.call(100_000, succeeded)
	r.call(3, cancelled)
	if n := count.all.Load() - before; n > 1 { // the replica says once that it is there
		t.Fatalf("%d scripts", n)
	}
	r.call(5, failed)
	before = count.all.Load()
	for range 1000 {
		if why := r.refusal().Reason; why != resilience.ReasonOpen {
			t.Fatalf("refused: %s", why)
		}
	}
	if n := count.all.Load() - before; n > 1 {
		t.Fatalf("%d scripts for refusals", n)
	}
}

// BenchmarkGoodCall measures what a good call of an unlimited provider costs.
func BenchmarkGoodCall(b *testing.B) {
	s := server{url: testkit.Redis(b)}
	r := s.fleet(b, 1, resilience.GateConfig{})[0]
	r.call(1, succeeded)
	b.ReportAllocs()
	for b.Loop() {
		p, err := r.Acquire(context.Background(), api)
		if err != nil {
			b.Fatal(err)
		}
		p.Done(succeeded)
	}
}
