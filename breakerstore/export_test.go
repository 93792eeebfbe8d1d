package breakerstore

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"backstop/resilience"
)

// AcquireSHA is how a command of acquire.lua is told from others.
func AcquireSHA() string { return acquireScript.Hash() }

// IsProbe reports whether the permit is that of the call that tests an open circuit.
func IsProbe(p resilience.Permit) bool { return p.(*permit).probe }

// A Step is one script that a process ran, and what came of it.
type Step struct {
	Kind       string // acquire, failure, success, neutral, open, close
	Gen        int64  // of the call that is reported
	Probe      bool   // whether it was the probe
	Call, Done int64  // when the script was sent and when the reply came, in nanoseconds

	Code  int64 // of acquire; 1 from report if the state changed
	Lent  bool  // acquire gave the probe
	After struct {
		Gen, Trips int64
		State      gobreaker.State
		Manual     bool
	}
}

// HistoryFailures is the threshold of the circuit in histories.
const HistoryFailures = 3

// History runs n scripts on one circuit, drawn by chance, as one process of
// several. Cooldowns end at once and windows and leases never, so that what a
// script does depends on the others alone.
func History(ctx context.Context, url, replica string, seed uint64, n int) ([]Step, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	rdb := redis.NewClient(o)
	defer rdb.Close()
	p := newProvider(resilience.GateConfig{
		Provider: "p", Failures: HistoryFailures, Cooldown: time.Nanosecond, Window: time.Hour, Timeout: time.Hour,
	}.WithDefaults(), Options{Replica: replica}.withDefaults())
	g := &Gate{rdb: rdb}
	if _, err := g.run(ctx, restoreScript, p, p.restoreArgs(nil, time.Now())...); err != nil {
		return nil, err
	}
	type call struct {
		gen   int64
		probe bool
	}
	chance := rand.New(rand.NewPCG(seed, 0))
	var calls []call
	var out []Step
	for range n {
		s := Step{Kind: "acquire"}
		script, args := acquireScript, p.acquireArgs(0)
		switch roll := chance.IntN(100); {
		case roll < 3:
			s.Kind, script, args = "open", switchScript, []any{"open"}
		case roll < 9:
			s.Kind, script, args = "close", switchScript, []any{"close"}
		case roll < 60 && len(calls) > 0:
			i := chance.IntN(len(calls))
			c := calls[i]
			calls = append(calls[:i], calls[i+1:]...)
			s.Kind = []string{"failure", "failure", "success", "neutral"}[chance.IntN(4)]
			s.Gen, s.Probe = c.gen, c.probe
			script, args = reportScript, p.reportArgs(c.gen, s.Kind, c.probe)
		}
		s.Call = time.Now().UnixNano()
		reply, err := g.run(ctx, script, p, args...)
		s.Done = time.Now().UnixNano()
		if err != nil {
			return nil, err
		}
		c, err := snapshotOf(reply)
		if err != nil {
			return nil, err
		}
		if s.Code, err = integer(reply, 0); err != nil {
			return nil, err
		}
		s.Lent = script == acquireScript && reply[2] == int64(1)
		s.After.Gen, s.After.Trips, s.After.State, s.After.Manual = c.gen, c.trips, c.state, c.manual
		if s.Kind == "acquire" && s.Code == granted {
			calls = append(calls, call{c.gen, s.Lent})
		}
		out = append(out, s)
	}
	return out, nil
}
