package breakerstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"backstop/resilience"
)

// Whatever arrives on the channel, it is read or refused, and a circuit that was
// read is in a state that exists.
func FuzzParseEvent(f *testing.F) {
	circuit := "10\t9\t8\t7\t2\t0\t40\t30\t0\t0\t0\t1\t1000000\t0\t0\t9\t9\t\t\treplica-1\t5 failures in 2m0s"
	for _, text := range []string{
		"hunter\t" + circuit, circuit, "", "\t", "hunter", strings.Replace("hunter\t"+circuit, "\t2\t", "\t3\t", 1),
		"hunter\t" + circuit + "\tmore", strings.Repeat("\t", 21), strings.Replace("hunter\t"+circuit, "40", "99999999999999999999", 1),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, c, err := parseEvent(text)
		if err != nil {
			if !errors.Is(err, errReply) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if c.state < 0 || c.state > 2 || strings.Contains(name, "\t") {
			t.Fatalf("%q: provider %q, circuit %+v", text, name, c)
		}
		newCircuit(c, time.Now(), "-").refuse(name, time.Now())
	})
}

func TestQueue(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"first come, first served, and not more than a few ahead": func(t *testing.T) {
			var q queue
			var order []int
			for range 2 {
				if _, ok, err := q.join(t.Context(), 2, time.Now(), time.Now(), 0); !ok || err != nil {
					t.Fatalf("join: %v, %v", ok, err)
				}
			}
			for i := range 5 {
				go func() {
					if _, ok, err := q.join(t.Context(), 2, time.Now(), time.Now().Add(time.Minute), 0); !ok || err != nil {
						t.Errorf("join: %v, %v", ok, err)
					}
					order = append(order, i)
				}()
				synctest.Wait()
			}
			for i := range 5 {
				q.leave()
				synctest.Wait()
				if len(order) != i+1 || order[i] != i {
					t.Fatalf("after %d have left: %v", i+1, order)
				}
			}
		},
		"fewer are let in as soon as fewer may be": func(t *testing.T) {
			var q queue
			in := 0
			for _, most := range []int{2, 2, 2, 1} {
				go func() {
					if _, ok, err := q.join(t.Context(), most, time.Now(), time.Now().Add(time.Minute), 0); !ok || err != nil {
						t.Errorf("join: %v, %v", ok, err)
					}
					in++
				}()
				synctest.Wait()
			}
			for i, want := range []int{2, 3, 4} {
				q.leave()
				if synctest.Wait(); in != want {
					t.Fatalf("after %d of two have left, %d came in", i+1, in)
				}
			}
		},
		"a wait that would be in vain is not begun": func(t *testing.T) {
			var q queue
			now := time.Now()
			if _, ok, _ := q.join(t.Context(), 1, now, now.Add(time.Second), time.Second); !ok {
				t.Fatal("the first one does not get in")
			}
			began := time.Now()
			k, ok, err := q.join(t.Context(), 1, now, now.Add(900*time.Millisecond), time.Second)
			if k != 1 || ok || err != nil || time.Since(began) != 0 {
				t.Fatalf("join: %d, %v, %v after %s", k, ok, err, time.Since(began))
			}
		},
		"callers that go away or wait too long make room": func(t *testing.T) {
			var q queue
			join := func(ctx context.Context, maxWait time.Duration) (bool, error) {
				_, ok, err := q.join(ctx, 1, time.Now(), time.Now().Add(maxWait), 0)
				return ok, err
			}
			if ok, err := join(t.Context(), 0); !ok || err != nil {
				t.Fatalf("join: %v, %v", ok, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if ok, err := join(ctx, time.Minute); ok || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("join: %v, %v", ok, err)
			}
			if ok, err := join(t.Context(), time.Second); ok || err != nil {
				t.Fatalf("join: %v, %v", ok, err)
			}
			q.leave()
			if ok, err := join(t.Context(), 0); !ok || err != nil {
				t.Fatalf("join: %v, %v", ok, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

func TestNewRefusesWhatItCannotWorkWith(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	for name, test := range map[string]struct {
		cfg resilience.GateConfig
		o   Options
	}{
		"no name":                 {cfg: resilience.GateConfig{}},
		"a name with a brace":     {cfg: resilience.GateConfig{Provider: "a}b"}},
		"a fingerprint of words":  {cfg: resilience.GateConfig{Provider: "a", Fingerprint: "two words"}},
		"a limit of nothing":      {cfg: resilience.GateConfig{Provider: "a", Limits: []resilience.Limit{{Rate: 0, Per: time.Second}}}},
		"a limit in no time":      {cfg: resilience.GateConfig{Provider: "a", Limits: []resilience.Limit{{Rate: 1}}}},
		"a ratio above one":       {cfg: resilience.GateConfig{Provider: "a", FailureRatio: 1.5}},
		"a negative window":       {cfg: resilience.GateConfig{Provider: "a", Window: -1}},
		"a prefix with a brace":   {cfg: resilience.GateConfig{Provider: "a"}, o: Options{Prefix: "x{y"}},
		"a replica with a tab":    {cfg: resilience.GateConfig{Provider: "a"}, o: Options{Replica: "x\ty"}},
		"a time-out before start": {cfg: resilience.GateConfig{Provider: "a"}, o: Options{Timeout: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(rdb, []resilience.GateConfig{test.cfg}, test.o); err == nil {
				t.Fatal("no error")
			}
		})
	}
}
