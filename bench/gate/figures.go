package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/sony/gobreaker/v2"

	"backstop/breakerstore"
	"backstop/lead"
	"backstop/resilience"
)

// BreakerFigures are those of one breaker in three scenarios: good calls alone,
// an outage of the provider, and a Redis that is halted.
type BreakerFigures struct {
	Name          string  `json:"name"`
	PerSecond     float64 `json:"calls_per_second"`
	Ideal         float64 `json:"of_ideal"` // 48 callers, one call after the other without a pause
	Errors        int     `json:"errors"`
	Trips         int     `json:"trips"`                     // in an outage, by the replica that made them or saw them first
	AfterTrip     int     `json:"calls_after_trip"`          // started after the first of them was known anywhere and before its cooldown was over
	LatestMillis  float64 `json:"latest_call_after_trip_ms"` // how long after it the last of them started
	Probes        int     `json:"calls_half_open"`           // the most in one half-open window
	TripsToldTo   int     `json:"first_trip_told"`           // times that somebody was told of the first trip
	BlockedMillis float64 `json:"longest_block_ms"`          // that a halted Redis cost a caller; -1: not measured
	HaltedErrors  int     `json:"errors_when_halted"`
}

// LimiterFigures are those of one limiter of 10 calls a second.
type LimiterFigures struct {
	Name        string  `json:"name"`
	Processes   int     `json:"processes"`
	Used        float64 `json:"used"`                 // part of the limit
	Scripts     float64 `json:"scripts_per_call"`     // that callers ran
	All         float64 `json:"all_scripts_per_call"` // with the gate's housekeeping
	MostInOne   int     `json:"most_in_one_second"`
	LongestWait float64 `json:"longest_wait_s"`
	Shares      []int   `json:"calls_by_process"`
}

// GoodCall is what one good call of an unlimited provider costs.
type GoodCall struct {
	Nanoseconds int64 `json:"ns"`
	Commands    int64 `json:"redis_commands"`
	Calls       int   `json:"calls"`
}

func machine() string {
	return fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

func isRefusal(err error) bool {
	return errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
}

func measureBreaker(url, name string, server *redisServer) (BreakerFigures, error) {
	f := BreakerFigures{Name: name, BlockedMillis: -1}
	if err := f.good(url); err != nil {
		return f, err
	}
	if name == nameNone {
		return f, nil
	}
	if err := f.outage(url); err != nil {
		return f, err
	}
	if server == nil {
		return f, nil
	}
	return f, f.halted(server)
}

// good measures good calls for five seconds.
func (f *BreakerFigures) good(url string) error {
	if err := flush(url); err != nil {
		return err
	}
	begin := time.Now().Add(time.Second)
	const length = 5 * time.Second
	records, err := run(processes, job{URL: url, Breaker: f.Name, Begin: begin, Fail: begin.Add(time.Hour), End: begin.Add(length)}, nil)
	if err != nil {
		return err
	}
	calls := 0
	for _, r := range records {
		calls += len(r.Starts)
		f.Errors += r.Errors
	}
	f.PerSecond = float64(calls) / length.Seconds()
	f.Ideal = f.PerSecond / (callers / callTime.Seconds())
	return nil
}

// outage measures what happens when all calls turn bad.
func (f *BreakerFigures) outage(url string) error {
	if err := flush(url); err != nil {
		return err
	}
	begin := time.Now().Add(time.Second)
	records, err := run(processes, job{URL: url, Breaker: f.Name, Begin: begin, Fail: begin.Add(time.Second), End: begin.Add(6 * time.Second)}, nil)
	if err != nil {
		return err
	}
	var starts []time.Time
	var changes []change
	for _, r := range records {
		starts = append(starts, r.Starts...)
		changes = append(changes, r.Changes...)
	}
	slices.SortFunc(changes, func(a, b change) int { return a.At.Compare(b.At) })
	between := func(from, to time.Time) (n int) {
		for _, s := range starts {
			if s.After(from) && s.Before(to) {
				n++
			}
		}
		return n
	}
	last := "closed"
	var opened, halfOpen time.Time
	for _, c := range changes {
		if c.To == "open" && (opened.IsZero() || c.At.Sub(opened) < cooldown/2 && f.Trips == 1) {
			f.TripsToldTo++
		}
		if c.To == last {
			continue // told by another process
		}
		switch last = c.To; c.To {
		case "open":
			if f.Trips++; f.Trips == 1 {
				opened = c.At
				f.AfterTrip = between(opened, opened.Add(cooldown-cooldown/100))
				for _, s := range starts {
					if late := s.Sub(opened); late < cooldown-cooldown/100 {
						f.LatestMillis = max(f.LatestMillis, float64(late.Microseconds())/1000)
					}
				}
			} else if !halfOpen.IsZero() {
				f.Probes = max(f.Probes, between(halfOpen.Add(-callTime/10), c.At))
			}
		case "half-open":
			halfOpen = c.At
		}
	}
	return nil
}

// halted measures for how long a Redis that is halted for five seconds blocks a
// caller.
func (f *BreakerFigures) halted(server *redisServer) error {
	if err := flush(server.url); err != nil {
		return err
	}
	begin := time.Now().Add(time.Second)
	records, err := run(processes, job{
		URL: server.url, Breaker: f.Name, Begin: begin, Fail: begin.Add(1500 * time.Millisecond), End: begin.Add(7 * time.Second),
	}, func() error {
		time.Sleep(time.Second)
		if err := server.signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(5 * time.Second)
		return server.signal(syscall.SIGCONT)
	})
	f.BlockedMillis = 0
	for _, r := range records {
		f.BlockedMillis = max(f.BlockedMillis, float64(r.Longest.Microseconds())/1000)
		f.HaltedErrors += r.Errors
	}
	return err
}

// measure measures the limiter for twenty seconds.
func (f *LimiterFigures) measure(url string) error {
	if err := flush(url); err != nil {
		return err
	}
	rdb, err := connect(url)
	if err != nil {
		return err
	}
	defer closeClient(rdb)
	if err := rdb.ConfigResetStat(context.Background()).Err(); err != nil {
		return fmt.Errorf("reset the statistics: %w", err)
	}
	begin := time.Now().Add(time.Second)
	records, err := run(f.Processes, job{URL: url, Limiter: f.Name, Begin: begin, End: begin.Add(20 * time.Second)}, nil)
	if err != nil {
		return err
	}
	var starts []time.Time
	for _, r := range records {
		starts = append(starts, r.Starts...)
		f.Scripts += float64(r.Scripts)
		f.Shares = append(f.Shares, len(r.Starts))
		f.LongestWait = max(f.LongestWait, r.Longest.Seconds())
	}
	slices.SortFunc(starts, time.Time.Compare)
	for i := range starts {
		n, _ := slices.BinarySearchFunc(starts, starts[i].Add(time.Second), time.Time.Compare)
		f.MostInOne = max(f.MostInOne, n-i)
	}
	if n := len(starts); n > 1 {
		f.Used = float64(n-1) / starts[n-1].Sub(starts[0]).Seconds() / limitRate
	}
	scripts, err := scriptsRun(rdb)
	f.All = float64(scripts) / float64(len(starts))
	f.Scripts /= float64(len(starts))
	return err
}

// scriptsRun is how many scripts the server ran since its statistics were reset.
// The gate's own housekeeping is among them: one read for each process every
// 250 ms, in a pipeline, and one sign of life a second.
func scriptsRun(rdb *redis.Client) (int64, error) {
	info, err := rdb.InfoMap(context.Background(), "commandstats").Result()
	if err != nil {
		return 0, fmt.Errorf("read the statistics: %w", err)
	}
	var n int64
	for _, command := range []string{"cmdstat_evalsha", "cmdstat_eval"} {
		var calls int64
		if text, ok := info["Commandstats"][command]; ok {
			if _, err := fmt.Sscanf(text, "calls=%d", &calls); err != nil {
				return 0, fmt.Errorf("read the statistics %q: %w", text, err)
			}
		}
		n += calls
	}
	return n, nil
}

// goodCall measures one caller on its own.
func goodCall(url string) (GoodCall, error) {
	f := GoodCall{Calls: 1_000_000}
	rdb, err := connect(url)
	if err != nil {
		return f, err
	}
	defer closeClient(rdb)
	var commands counter
	rdb.AddHook(&commands)
	g, err := breakerstore.New(rdb, []resilience.GateConfig{{Provider: provider}}, breakerstore.Options{Logger: zerolog.Nop(), Poll: time.Hour})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, end(g.Shutdown)) }()
	one := func() error {
		permit, err := g.Acquire(context.Background(), provider)
		if err == nil {
			permit.Done(resilience.Result{Class: lead.ClassOK})
		}
		return err
	}
	if err := one(); err != nil { // the first call of all reads the circuit
		return f, err
	}
	time.Sleep(500 * time.Millisecond) // until the replica has said that it is there
	first := commands.n.Load()
	if first == 0 {
		return f, errors.New("the commands are not counted")
	}
	began := time.Now()
	for range f.Calls {
		if err := one(); err != nil {
			return f, err
		}
	}
	f.Nanoseconds = time.Since(began).Nanoseconds() / int64(f.Calls)
	f.Commands = commands.n.Load() - first
	return f, err
}

func flush(url string) error {
	rdb, err := connect(url)
	if err != nil {
		return err
	}
	defer closeClient(rdb)
	if err := rdb.FlushAll(context.Background()).Err(); err != nil {
		return fmt.Errorf("empty Redis: %w", err)
	}
	return nil
}
