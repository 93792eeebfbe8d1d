package breakerstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/sony/gobreaker/v2"

	"backstop/breakerstore"
	"backstop/resilience"
)

// childEnv tells the test binary that it is one of several processes of a test;
// its value is the job.
const childEnv = "BREAKERSTORE_TEST_CHILD"

// A job is what one process does: its callers make calls of an imagined provider,
// one after the other, which fails for a while.
type job struct {
	URL      string
	Replica  string
	Callers  int
	Call     time.Duration // how long each takes
	Begin    time.Time
	Fail, OK time.Time // it fails from Fail until OK
	End      time.Time
	Config   resilience.GateConfig

	Steps int    // run so many scripts instead
	Seed  uint64 // of the chance that draws them
}

// A record is what the process saw. All processes have the machine's clock, as
// has Redis.
type record struct {
	Calls       []callRecord
	Transitions []resilience.Transition
	Errors      []string
	Refusals    int
	Steps       []breakerstore.Step
}

type callRecord struct {
	Began, Ended time.Time
	Probe        bool
	Failed       bool
}

// child does the job that the environment names and writes the record.
func child() int {
	var j job
	err := json.Unmarshal([]byte(os.Getenv(childEnv)), &j)
	if err == nil {
		var r record
		if r, err = j.do(); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(r)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (j job) do() (r record, err error) {
	if j.Steps > 0 {
		elapse(time.Until(j.Begin))
		r.Steps, err = breakerstore.History(context.Background(), j.URL, j.Replica, j.Seed, j.Steps)
		return r, err
	}
	o, err := redis.ParseURL(j.URL)
	if err != nil {
		return r, err
	}
	rdb := redis.NewClient(o)
	defer func() { err = errors.Join(err, rdb.Close()) }()
	var mu sync.Mutex
	gate, err := breakerstore.New(rdb, []resilience.GateConfig{j.Config}, breakerstore.Options{
		Replica: j.Replica, Logger: zerolog.Nop(), Timeout: 2 * time.Second,
		Hook: func(t resilience.Transition) {
			mu.Lock()
			defer mu.Unlock()
			r.Transitions = append(r.Transitions, t)
		},
	})
	if err != nil {
		return r, err
	}
	elapse(time.Until(j.Begin))
	var wg sync.WaitGroup
	for range j.Callers {
		wg.Go(func() {
			for time.Now().Before(j.End) {
				c, err := j.call(gate)
				mu.Lock()
				var refusal *resilience.Refusal
				switch {
				case err == nil:
					r.Calls = append(r.Calls, c)
				case errors.As(err, &refusal):
					r.Refusals++
				default:
					r.Errors = append(r.Errors, err.Error())
				}
				mu.Unlock()
				if refusal != nil { // nobody asks again before the time it was told
					elapse(min(time.Until(refusal.RetryAt), time.Until(j.End)))
				}
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return r, gate.Shutdown(ctx)
}

func (j job) call(gate resilience.Gate) (callRecord, error) {
	p, err := gate.Acquire(context.Background(), api)
	if err != nil {
		return callRecord{}, err
	}
	c := callRecord{Began: time.Now(), Probe: breakerstore.IsProbe(p)}
	elapse(j.Call)
	c.Failed = c.Began.After(j.Fail) && c.Began.Before(j.OK)
	if c.Failed {
		p.Done(failed)
	} else {
		p.Done(succeeded)
	}
	c.Ended = time.Now()
	return c, nil
}

// processes runs the job in n processes and returns what each saw.
func processes(t *testing.T, n int, j job) []record {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	records := make([]record, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			j := j
			j.Replica = fmt.Sprintf("process-%d", i)
			j.Seed = j.Seed<<8 + uint64(i)
			spec, err := json.Marshal(j)
			if err != nil {
				t.Error(err)
				return
			}
			ctx, cancel := context.WithDeadline(context.Background(), j.End.Add(30*time.Second))
			defer cancel()
			cmd := exec.CommandContext(ctx, program)
			cmd.Env = append(os.Environ(), childEnv+"="+string(spec))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("process %d: %v\n%s", i, err, stderr.Bytes())
				return
			}
			if err := json.Unmarshal(out, &records[i]); err != nil {
				t.Errorf("process %d wrote %q: %v", i, out, err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for i, r := range records {
		if len(r.Errors) > 0 {
			t.Fatalf("process %d: errors %q", i, r.Errors)
		}
	}
	return records
}

// Three processes of 16 callers live through an outage of their provider.
func TestProcessesThroughAnOutage(t *testing.T) {
	begin := time.Now().Add(500 * time.Millisecond).Truncate(time.Millisecond)
	records := processes(t, 3, job{
		URL: realRedis(t).url, Callers: 16, Call: 50 * time.Millisecond,
		Begin: begin, Fail: begin.Add(2 * time.Second), OK: begin.Add(3700 * time.Millisecond), End: begin.Add(5 * time.Second),
		Config: resilience.GateConfig{Provider: api, Cooldown: 500 * time.Millisecond},
	})

	// Who made which transition, by when it was recorded.
	made := map[time.Time]resilience.Transition{}
	for i, r := range records {
		for _, tr := range r.Transitions {
			if !tr.Own {
				continue
			}
			if other, twice := made[tr.At]; twice {
				t.Errorf("process %d made %v, which somebody made already: %v", i, tr, other)
			}
			made[tr.At] = tr
		}
	}
	for i, r := range records {
		if len(r.Transitions) != len(made) {
			t.Errorf("process %d was told of %d transitions, made were %d", i, len(r.Transitions), len(made))
		}
		for _, tr := range r.Transitions {
			if made[tr.At].To != tr.To {
				t.Errorf("process %d was told of %v, which nobody made", i, tr)
			}
		}
	}

	var windows, trips int
	for at, tr := range made {
		switch tr.To {
		case gobreaker.StateOpen:
			trips++
			for i, r := range records {
				for _, c := range r.Calls {
					if after := c.Began.Sub(at); after > delivery && after < 500*time.Millisecond-delivery {
						t.Errorf("process %d began a call %s after the circuit opened", i, after)
					}
				}
			}
		case gobreaker.StateHalfOpen:
			windows++
		}
	}
	if trips < 2 {
		t.Errorf("the circuit opened %d times in an outage of three cooldowns", trips)
	}
	var probes, calls int
	for _, r := range records {
		calls += len(r.Calls)
		for _, c := range r.Calls {
			if c.Probe {
				probes++
			}
		}
	}
	if probes != windows {
		t.Errorf("%d probes in %d half-open windows", probes, windows)
	}
	last := records[0].Transitions[len(records[0].Transitions)-1]
	if last.To != gobreaker.StateClosed {
		t.Errorf("after the outage the circuit is %s", last.To)
	}
	// The machine may be busy, and with the race detector slow; the benchmark
	// measures how close the calls come to the ideal.
	if ideal := 48 * int(2*time.Second/(50*time.Millisecond)); calls < ideal/2 {
		t.Errorf("%d calls, of which %d could be made before the outage alone", calls, ideal)
	}
}

// Three processes share a limit: it holds, is used up, and each gets its part.
func TestProcessesShareALimit(t *testing.T) {
	t.Parallel()
	begin := time.Now().Add(500 * time.Millisecond)
	limit := resilience.Limit{Rate: 10, Per: time.Second}
	const length = 8 * time.Second
	records := processes(t, 3, job{
		URL: realRedis(t).url, Callers: 16, Call: 20 * time.Millisecond,
		Begin: begin, Fail: begin.Add(time.Hour), OK: begin.Add(time.Hour), End: begin.Add(length),
		Config: resilience.GateConfig{Provider: api, MaxWait: 30 * time.Second, Limits: []resilience.Limit{limit}},
	})
	var starts []time.Time
	counts := make([]int, 3)
	for i, r := range records {
		for _, c := range r.Calls {
			if c.Began.Before(begin.Add(length)) {
				starts = append(starts, c.Began)
				counts[i]++
			}
		}
	}
	checkLimit(t, limit, starts)
	checkUse(t, limit, starts)
	checkFairness(t, counts)
}
