package cache_test

import (
	"testing"
	"time"

	"backstop/cache"
	"backstop/providers"
	"backstop/testkit"
)

const impatient = 200 * time.Millisecond

func timeout(o *cache.Options) { o.Timeout = impatient }

// A Redis that hangs costs one time-out, and then nothing until the next try.
func TestAHaltedRedisHoldsNobodyUp(t *testing.T) {
	for name, set := range map[string]func(*cache.Options){"with a secret": timeout, "without one": func(o *cache.Options) { timeout(o); noSecret(o) }} {
		t.Run(name, func(t *testing.T) {
			server := testkit.RedisServer(t)
			r := newReplica(t, server.Addr(), set)
			r.learn(about("before@example.com"), found)
			server.Stop()
			api := &counter{answer: func(int64) providers.Answer { return found }}
			began := time.Now()
			got := all(t, []*replica{r}, 30, about(person), api)
			took := time.Since(began)
			// In one process they share a call also without Redis.
			if len(got) != 30 || api.calls.Load() != 1 {
				t.Errorf("%d answers from %d calls", len(got), api.calls.Load())
			}
			// Two time-outs, and what the scheduler of a busy machine adds.
			if took > 2*impatient+time.Second {
				t.Errorf("they were held up for %s", took)
			}
			if r.notKept.Load() != 1 {
				t.Errorf("%d answers are said not to be kept", r.notKept.Load())
			}
			began = time.Now()
			r.learn(about("after@example.com"), found)
			if took := time.Since(began); took > impatient {
				t.Errorf("the next one was held up for %s", took)
			}
			server.Cont()
			testkit.Eventually(t, 10*time.Second, "answers are kept again", func() bool {
				return r.knows(about("before@example.com"))
			})
		})
	}
}

// What is asked when Redis hangs is no answer lost, only one not kept.
func TestARedisThatHangsDuringTheCallLosesNoAnswer(t *testing.T) {
	server := testkit.RedisServer(t)
	r := newReplica(t, server.Addr(), timeout)
	_, claim := r.claim(about(person))
	server.Stop()
	began := time.Now()
	claim.Fill(t.Context(), found)
	if took := time.Since(began); took > impatient+time.Second {
		t.Errorf("End took %s", took)
	}
	if r.notKept.Load() != 1 {
		t.Errorf("%d answers are said not to be kept", r.notKept.Load())
	}
	server.Cont()
}

func TestARedisThatIsDownIsNoError(t *testing.T) {
	r := newReplica(t, testkit.FreeAddr(t), timeout)
	for _, q := range []string{"a@example.com", "b@example.com"} {
		r.learn(about(q), found)
	}
	if r.notKept.Load() != 2 {
		t.Errorf("%d answers are said not to be kept", r.notKept.Load())
	}
}

func TestARedisThatIsFullLosesNoAnswer(t *testing.T) {
	server := testkit.RedisServer(t, testkit.WithMaxMemory(1, "noeviction"))
	r := newReplica(t, server.Addr())
	r.learn(about(person), found)
	if r.notKept.Load() != 1 {
		t.Errorf("%d answers are said not to be kept", r.notKept.Load())
	}
}

func TestAFlushedRedisIsAMiss(t *testing.T) {
	server := testkit.RedisServer(t)
	r := newReplica(t, server.Addr())
	r.learn(about(person), found)
	server.FlushAll() // and its scripts
	r.learn(about(person), found)
	if !r.knows(about(person)) {
		t.Error("the second answer is not kept")
	}
}
