// Command gate measures the shared gate of package breakerstore beside what one
// would use otherwise: gobreaker's DistributedCircuitBreaker on a plain store
// with a lock, and GCRA limiters.
//
//	go run ./bench/gate [-json FILE] [-redis URL] [-only breakers|limiters]
//
// It starts a redis-server of its own, and some processes of itself, with 48
// callers in all; with -redis, which must be a server that holds nothing, the
// scenario of a halted Redis is left out.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

const (
	processes = 3
	callers   = 48 // in all processes
	callTime  = 50 * time.Millisecond
	threshold = 5
	limitRate = 10 // calls a second, in the scenario of the limiters
)

func main() {
	if spec := os.Getenv(jobEnv); spec != "" {
		exit(work(spec))
	}
	jsonFile := flag.String("json", "", "write the figures to this file too")
	redisURL := flag.String("redis", "", "an empty Redis to use instead of one of its own")
	only := flag.String("only", "", "measure only the \"breakers\" or the \"limiters\"")
	flag.Parse()
	exit(measure(*redisURL, *jsonFile, *only))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Figures is what the benchmark finds.
type Figures struct {
	At       time.Time        `json:"at"`
	Machine  string           `json:"machine"`
	GoodCall GoodCall         `json:"good_call"`
	Breakers []BreakerFigures `json:"breakers"`
	Limiters []LimiterFigures `json:"limiters"`
}

func measure(url, jsonFile, only string) error {
	var server *redisServer
	if url == "" {
		var err error
		if server, err = startRedis(); err != nil {
			return err
		}
		defer server.end()
		url = server.url
	}
	f := Figures{At: time.Now().UTC().Truncate(time.Second), Machine: machine()}
	var err error
	if f.GoodCall, err = goodCall(url); err != nil {
		return err
	}
	for _, name := range breakerNames {
		if only == "limiters" {
			break
		}
		b, err := measureBreaker(url, name, server)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f.Breakers = append(f.Breakers, b)
	}
	for _, l := range []LimiterFigures{
		{Name: nameGateLimit, Processes: 1}, {Name: nameGateLimit, Processes: processes}, {Name: nameGateLimit, Processes: 10},
		{Name: nameGCRA10, Processes: processes}, {Name: nameGCRA1, Processes: processes},
	} {
		if only == "breakers" {
			break
		}
		if err := l.measure(url); err != nil {
			return fmt.Errorf("%s: %w", l.Name, err)
		}
		f.Limiters = append(f.Limiters, l)
	}
	f.print(os.Stdout)
	if jsonFile == "" {
		return nil
	}
	out, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}
	if err := os.WriteFile(jsonFile, append(out, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return nil
}
