package breakerstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/sony/gobreaker/v2"

	"backstop/breakerstore"
)

// A sequential circuit: what the scripts must look like when they run one after
// the other.
type sequential struct {
	gen, trips int64
	state      gobreaker.State
	manual     bool
	failures   int
	lent       bool
}

// turn is the circuit in another state.
func (c sequential) turn(to gobreaker.State) sequential {
	if to == gobreaker.StateOpen {
		c.trips++
	}
	c.state, c.failures, c.lent = to, 0, false
	return c
}

// step is the circuit after a script, and whether its generation is a new one.
func (c sequential) step(s breakerstore.Step) (next sequential, fresh, ok bool) {
	const granted, isOpen, isProbing = 0, 2, 3
	current := s.Gen == c.gen && !c.manual
	switch {
	case s.Kind == "open":
		trips := c.trips
		if c.state != gobreaker.StateOpen {
			trips++
		}
		c = c.turn(gobreaker.StateOpen)
		c.manual, c.trips = true, trips
		return c, true, true
	case s.Kind == "close":
		c = c.turn(gobreaker.StateClosed)
		c.manual = false
		return c, true, true
	case s.Kind == "acquire" && c.manual:
		return c, false, s.Code == isOpen
	case s.Kind == "acquire" && c.state == gobreaker.StateClosed:
		return c, false, s.Code == granted && !s.Lent
	case s.Kind == "acquire" && c.lent:
		return c, false, s.Code == isProbing
	case s.Kind == "acquire":
		c = c.turn(gobreaker.StateHalfOpen)
		c.lent = true
		return c, true, s.Code == granted && s.Lent
	case !current:
		return c, false, s.Code == 0
	case s.Probe && s.Kind == "failure":
		return c.turn(gobreaker.StateOpen), true, s.Code == 1
	case s.Probe && s.Kind == "success":
		return c.turn(gobreaker.StateClosed), true, s.Code == 1
	case s.Probe:
		c.lent = false
		return c, false, s.Code == 0
	case s.Kind == "failure":
		if c.failures++; c.failures == breakerstore.HistoryFailures {
			return c.turn(gobreaker.StateOpen), true, s.Code == 1
		}
		return c, false, s.Code == 0
	}
	return c, false, s.Code == 0
}

var circuitModel = porcupine.Model{
	Init: func() any { return sequential{} },
	Step: func(state, input, _ any) (bool, any) {
		before, s := state.(sequential), input.(breakerstore.Step)
		if before.gen == 0 { // nobody knows the first one before it is seen
			before.gen = s.Gen
			if s.Kind == "acquire" {
				before.gen = s.After.Gen
			}
		}
		after, fresh, ok := before.step(s)
		if fresh {
			ok = ok && s.After.Gen > before.gen
			after.gen = s.After.Gen
		}
		return ok && s.After.Gen == after.gen && s.After.State == after.state && s.After.Manual == after.manual &&
			s.After.Trips == after.trips, after
	},
}

// Scripts that three processes run at the same time have effects and replies as
// if they had run one after the other.
func TestHistoriesOfThreeProcessesAreLinearizable(t *testing.T) {
	url := realRedis(t).url
	for round := range 3 {
		begin := time.Now().Add(400 * time.Millisecond)
		records := processes(t, 3, job{URL: url, Begin: begin, End: begin, Steps: 400, Seed: uint64(round + 1), Callers: 1})
		var history []porcupine.Operation
		lent := 0
		for i, r := range records {
			for _, s := range r.Steps {
				if s.Lent {
					lent++
				}
				history = append(history, porcupine.Operation{ClientId: i, Input: s, Call: s.Call, Return: s.Done})
			}
		}
		if lent == 0 {
			t.Fatal("the history holds no probe")
		}
		if got := porcupine.CheckOperationsTimeout(circuitModel, history, 60*time.Second); got != porcupine.Ok {
			t.Fatalf("round %d: the history of %d scripts is %s", round, len(history), got)
		}
		if err := (server{url: url}).client(t).FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}
