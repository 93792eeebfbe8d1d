package cache_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"backstop/cache"
	"backstop/chain"
	"backstop/lead"
	"backstop/providers"
	"backstop/testkit"
)

// A counter is an API that counts its calls and those at the same time.
type counter struct {
	answer          func(n int64) providers.Answer // to the n-th call
	takes           time.Duration
	calls, now, top atomic.Int64
}

func (c *counter) call() providers.Answer {
	n := c.calls.Add(1)
	now := c.now.Add(1)
	defer c.now.Add(-1)
	for top := c.top.Load(); now > top && !c.top.CompareAndSwap(top, now); top = c.top.Load() {
	}
	elapse(c.takes)
	return c.answer(n)
}

// elapse is how long a call takes.
func elapse(d time.Duration) { <-time.After(d) }

// get is what a chain does: the kept answer, or a call.
func (r *replica) get(ctx context.Context, q chain.Lookup, api *counter) (providers.Answer, error) {
	kept, claim, err := r.GetOrLease(ctx, q)
	switch {
	case err != nil:
		return providers.Answer{}, err
	case kept != nil:
		return kept.Answer, nil
	}
	a := api.call()
	claim.Fill(ctx, a)
	return a, nil
}

// all asks from every replica n times at once.
func all(t *testing.T, replicas []*replica, n int, q chain.Lookup, api *counter) (got []providers.Answer) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, r := range replicas {
		for range n {
			wg.Go(func() {
				a, err := r.get(context.Background(), q, api)
				if err != nil {
					t.Errorf("GetOrLease: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				got = append(got, a)
			})
		}
	}
	wg.Wait()
	return got
}

func fleet(t *testing.T, addr string, set ...func(*cache.Options)) (replicas []*replica) {
	for range 3 {
		replicas = append(replicas, newReplica(t, addr, set...))
	}
	return replicas
}

func TestOneCallForAllWhoAskAtOnce(t *testing.T) {
	for name, answer := range map[string]providers.Answer{"data": found, "a negative": unknown} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, addr string) {
				api := &counter{takes: 100 * time.Millisecond, answer: func(int64) providers.Answer { return answer }}
				got := all(t, fleet(t, addr, noSecret), 50, about(person), api)
				for _, a := range got {
					if a.Class != answer.Class || a.Profile[lead.PersonTitle] != answer.Profile[lead.PersonTitle] {
						t.Fatalf("one got %+v", a)
					}
				}
				if len(got) != 150 || api.calls.Load() != 1 {
					t.Errorf("%d answers from %d calls", len(got), api.calls.Load())
				}
			})
		})
	}
}

// With a call that fails the next one tries, one after the other: no call is ever
// made beside another, and who comes after the first success makes none.
func TestACallThatFailsMakesWayForTheNext(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		api := &counter{takes: 5 * time.Millisecond, answer: func(n int64) providers.Answer {
			if n <= 10 {
				return providers.Answer{Class: lead.ClassTransient, Status: 503}
			}
			return found
		}}
		failures := 0
		for _, a := range all(t, fleet(t, addr), 10, about(person), api) {
			if a.Class == lead.ClassTransient {
				failures++
			}
		}
		if api.calls.Load() != 11 || failures != 10 || api.top.Load() != 1 {
			t.Errorf("%d calls, %d of them at once; %d got a failure", api.calls.Load(), api.top.Load(), failures)
		}
	})
}

func TestACallThatPanicsOrIsRefusedMakesWay(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		one, other := newReplica(t, addr), newReplica(t, addr)
		for range 3 {
			_, claim := one.claim(about(person))
			claim.Release(t.Context())
			claim.Fill(t.Context(), found) // too late: it has ended
		}
		if other.knows(about(person)) {
			t.Error("the second End counted")
		}
	})
}

func TestDifferentPeopleDoNotWaitForEachOther(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr)
		_, first := r.claim(about("a@example.com"))
		_, second := r.claim(about("b@example.com")) // would hang
		first.Fill(t.Context(), found)
		second.Fill(t.Context(), found)
	})
}

// childEnv tells the test binary that it is a worker that gets killed, and names
// the Redis.
const childEnv = "ANSWERS_TEST_CHILD"

func claimAndHang(addr string) {
	s, err := cache.New(newClient(addr), cache.Options{
		Secret: secret, Logger: zerolog.Nop(),
		Providers: map[string]cache.Ages{api: {Positive: time.Hour, Lease: 2 * time.Second}},
	})
	if err == nil {
		_, _, err = s.GetOrLease(context.Background(), about(person))
	}
	fmt.Println(err)
	select {}
}

func TestAKilledWorkerIsWaitedForNoLongerThanItsLease(t *testing.T) {
	server := testkit.RedisServer(t)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+server.Addr())
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var said string
	if _, err := fmt.Fscanln(out, &said); err != nil || said != "<nil>" {
		t.Fatalf("the worker says %q, %v", said, err)
	}
	began := time.Now()
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed, which is an error
	api := &counter{answer: func(int64) providers.Answer { return found }}
	got := all(t, fleet(t, server.Addr(), ages(time.Hour, time.Hour, 10*time.Second)), 5, about(person), api)
	if took := time.Since(began); took > 4*time.Second || took < time.Second {
		t.Errorf("it took %s with a lease of 2s", took)
	}
	if api.calls.Load() != 1 || len(got) != 15 {
		t.Errorf("%d calls", api.calls.Load())
	}
}

func TestNobodyWaitsLongerThanTheySaid(t *testing.T) {
	const wait = 200 * time.Millisecond
	tests := []struct {
		name  string
		same  bool // the leader is in the same process
		lease time.Duration
		wait  time.Duration // of the question
		ctx   time.Duration
		err   error
	}{
		{"in the same process, their own wait", true, 5 * time.Second, wait, 0, nil},
		{"in another process, their own wait", false, 5 * time.Second, wait, 0, nil},
		{"in the same process, the lease", true, wait, time.Minute, 0, nil},
		{"in the same process, their context", true, 5 * time.Second, time.Minute, wait, context.DeadlineExceeded},
		{"in another process, their context", false, 5 * time.Second, time.Minute, wait, context.DeadlineExceeded},
		{"no wait at all", false, 5 * time.Second, 0, 0, nil},
	}
	everywhere(t, func(t *testing.T, addr string) {
		for i, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				q := about(fmt.Sprintf("p%d@example.com", i))
				leader := newReplica(t, addr, ages(time.Hour, time.Hour, tt.lease))
				_, claim := leader.claim(q)
				defer claim.Release(t.Context())
				follower := leader
				if !tt.same {
					follower = newReplica(t, addr, ages(time.Hour, time.Hour, tt.lease))
				}
				ctx := t.Context()
				if tt.ctx > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.ctx)
					defer cancel()
				}
				q.MaxWait = tt.wait
				began := time.Now()
				kept, own, err := follower.GetOrLease(ctx, q)
				took := time.Since(began)
				if !errors.Is(err, tt.err) || kept != nil || (own == nil) != (tt.err != nil) {
					t.Fatalf("GetOrLease: %v, %v, %v", kept, own, err)
				}
				if took > wait+2*time.Second || tt.wait > 0 && took < wait-10*time.Millisecond {
					t.Errorf("it took %s", took)
				}
				if own == nil {
					return
				}
				// It makes a call of its own, whose answer is kept although it has no lock.
				own.Fill(t.Context(), found)
				if !newReplica(t, addr).knows(q) {
					t.Error("the answer is not kept")
				}
			})
		}
	})
}

func TestACancelledClaimIsNoClaim(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if kept, claim, err := r.GetOrLease(ctx, about(person)); !errors.Is(err, context.Canceled) || kept != nil || claim != nil {
			t.Errorf("GetOrLease: %v, %v, %v", kept, claim, err)
		}
		r.learn(about(person), found) // would wait for it
	})
}

func TestAnAnswerIsKeptAlsoWhenTheCallerGoesAway(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		one, other := newReplica(t, addr), newReplica(t, addr)
		ctx, cancel := context.WithCancel(t.Context())
		_, claim, err := one.GetOrLease(ctx, about(person))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		claim.Fill(ctx, found)
		if !other.knows(about(person)) {
			t.Error("it is not kept")
		}
	})
}
