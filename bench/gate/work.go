package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// jobEnv holds the job of a process that was started by another one.
const jobEnv = "BENCH_GATE_JOB"

// A job is what each of the processes does.
type job struct {
	URL     string
	Callers int
	Breaker string // or
	Limiter string
	Begin   time.Time
	Fail    time.Time // from then on calls are bad
	End     time.Time
}

// A record is what one process saw. The processes share the machine's clock.
type record struct {
	Starts  []time.Time
	Changes []change
	Errors  int           // neither calls nor refusals by an open circuit
	Scripts int64         // that callers ran
	Longest time.Duration // that a caller waited for a breaker or limiter, beside the call
}

type change struct {
	At time.Time
	To string
}

// work does the job of one process and writes the record to standard output.
func work(spec string) error {
	redis.SetLogger(silent{})
	var j job
	if err := json.Unmarshal([]byte(spec), &j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	rdb, err := connect(j.URL)
	if err != nil {
		return err
	}
	defer closeClient(rdb)
	r := &record{}
	if j.Limiter != "" {
		err = j.limited(rdb, r)
	} else {
		err = j.broken(rdb, r)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// silent takes what go-redis logs while the server is halted.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// broken calls through a breaker, one call after the other.
func (j job) broken(rdb *redis.Client, r *record) error {
	var mu sync.Mutex
	b, err := newBreaker(j.Breaker, rdb, func(to string) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		r.Changes = append(r.Changes, change{now, to})
	})
	if err != nil {
		return err
	}
	j.each(func() {
		began, start := time.Now(), time.Time{}
		err := b.do(context.Background(), func() bool {
			start = time.Now()
			time.Sleep(callTime)
			return start.Before(j.Fail)
		})
		waited := time.Since(began)
		mu.Lock()
		if !start.IsZero() {
			waited -= callTime
			r.Starts = append(r.Starts, start)
		}
		if err != nil && !isRefusal(err) {
			r.Errors++
		}
		r.Longest = max(r.Longest, waited)
		mu.Unlock()
		if start.IsZero() { // as a worker does: look again later
			time.Sleep(callTime / 10)
		}
	})
	return end(b.end)
}

// limited makes calls that take no time.
func (j job) limited(rdb *redis.Client, r *record) error {
	var commands counter
	rdb.AddHook(&commands)
	l, err := newLimiter(j.Limiter, rdb)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(context.Background(), j.End)
	defer cancel()
	if err := l.wait(ctx); err != nil { // the first call of all loads scripts
		return err
	}
	first := commands.scripts.Load()
	defer func() { r.Scripts = commands.scripts.Load() - first }()
	var mu sync.Mutex
	j.each(func() {
		began := time.Now()
		err := l.wait(ctx)
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			r.Starts = append(r.Starts, now)
			r.Longest = max(r.Longest, now.Sub(began))
		case ctx.Err() == nil:
			r.Errors++
		}
	})
	return end(l.end)
}

// each runs do in every caller until the end.
func (j job) each(do func()) {
	time.Sleep(time.Until(j.Begin))
	var wg sync.WaitGroup
	for range j.Callers {
		wg.Go(func() {
			for time.Now().Before(j.End) {
				do()
			}
		})
	}
	wg.Wait()
}

func end(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return f(ctx)
}

// run does a job in so many processes, which share the callers; meanwhile is
// called when it has begun.
func run(processes int, j job, meanwhile func() error) ([]record, error) {
	j.Callers = callers / processes
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	spec, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("write the job: %w", err)
	}
	records, errs := make([]record, processes), make([]error, processes+1)
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			var stderr bytes.Buffer
			cmd := exec.Command(program)
			cmd.Env = append(os.Environ(), jobEnv+"="+string(spec))
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err == nil {
				err = json.Unmarshal(out, &records[i])
			}
			if err != nil {
				errs[i] = fmt.Errorf("process %d: %w %s", i, err, stderr.Bytes())
			}
		})
	}
	if meanwhile != nil {
		time.Sleep(time.Until(j.Begin))
		errs[processes] = meanwhile()
	}
	wg.Wait()
	return records, errors.Join(errs...)
}
