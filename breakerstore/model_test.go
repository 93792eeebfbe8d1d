package breakerstore

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
	"pgregory.net/rapid"

	"backstop/resilience"
)

// A bench is the scripts on a Redis whose clock the test turns.
type scripted struct {
	t    *rapid.T
	mini *miniredis.Miniredis
	rdb  *redis.Client
	now  int64 // microseconds
}

func newScripted(t *testing.T) *scripted {
	s := &scripted{mini: miniredis.RunT(t)}
	s.rdb = redis.NewClient(&redis.Options{Addr: s.mini.Addr()})
	t.Cleanup(func() {
		if err := s.rdb.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// reset begins a new example.
func (s *scripted) reset(rt *rapid.T) {
	s.t, s.now = rt, time.Date(2031, 5, 6, 7, 8, 9, 123456000, time.UTC).UnixMicro()
	s.mini.FlushAll()
	s.set()
}

func (s *scripted) set() { s.mini.SetTime(time.UnixMicro(s.now)) }

func (s *scripted) advance(d time.Duration) {
	s.now += d.Microseconds()
	s.set()
}

func (s *scripted) run(script *redis.Script, p *provider, args ...any) []any {
	s.t.Helper()
	reply, err := script.Run(context.Background(), s.rdb, p.keys, p.args(args)...).Slice()
	if err != nil {
		s.t.Fatalf("script: %v", err)
	}
	return reply
}

func (s *scripted) circuit(reply []any) snapshot {
	s.t.Helper()
	c, err := circuitOf(reply)
	if err != nil {
		s.t.Fatalf("reply %v: %v", reply, err)
	}
	return c
}

// circuitModel says in Go what the scripts must do with a circuit.
type circuitModel struct {
	cfg             resilience.GateConfig
	state           gobreaker.State
	manual          bool
	gen             int64
	failures        []int64
	retry, lease    int64
	cooldown        time.Duration
	paused, parked  int64
	trips           int64
	factor          float64
	factorAt, lowed int64
}

func (m *circuitModel) open(now int64, cooldown time.Duration) {
	m.state, m.retry, m.cooldown, m.failures = gobreaker.StateOpen, now+cooldown.Microseconds(), cooldown, nil
	m.trips++
}

func (m *circuitModel) report(now int64, gen int64, probe bool, outcome string) (turned bool) {
	if gen != m.gen || m.manual {
		return false
	}
	switch {
	case m.state == gobreaker.StateHalfOpen && probe && outcome == "failure":
		m.open(now, m.cfg.NextCooldown(m.cooldown))
		return true
	case m.state == gobreaker.StateHalfOpen && probe && outcome == "success":
		m.state, m.failures = gobreaker.StateClosed, nil
		return true
	case m.state == gobreaker.StateHalfOpen && probe:
		m.lease = 0
	case m.state == gobreaker.StateClosed && outcome == "failure":
		m.failures = append(m.failures, now)
		if m.recent(now) >= m.cfg.Failures {
			m.open(now, m.cfg.Cooldown)
			return true
		}
	}
	return false
}

func (m *circuitModel) recent(now int64) int {
	n := 0
	for _, at := range m.failures {
		if now-at < m.cfg.Window.Microseconds() {
			n++
		}
	}
	return min(n, m.cfg.Failures)
}

// enter says with which code enter.lua must reply, and takes the probe.
func (m *circuitModel) enter(now int64, patience time.Duration) (code int64, probe bool) {
	switch {
	case m.manual:
		return isOpen, false
	case m.parked > now:
		return isParked, false
	case m.state == gobreaker.StateOpen && m.retry > now:
		return isOpen, false
	case m.state == gobreaker.StateHalfOpen && m.lease > now:
		return isProbing, false
	case m.paused-now > patience.Microseconds():
		return isPaused, false
	case m.state == gobreaker.StateClosed:
		return granted, false
	}
	m.state = gobreaker.StateHalfOpen
	m.lease = max(now, m.paused) + m.cfg.Lease().Microseconds()
	return granted, true
}

func (m *circuitModel) part(now int64) float64 {
	return min(1, m.factor+resilience.Climb*float64(now-m.factorAt)/million)
}

// The scripts keep a circuit exactly as the model does, whatever happens in
// whatever order.
func TestCircuitScriptsAgainstTheModel(t *testing.T) {
	s := newScripted(t)
	rapid.Check(t, func(rt *rapid.T) {
		s.reset(rt)
		cfg := resilience.GateConfig{
			Provider: "p",
			Failures: rapid.IntRange(1, 4).Draw(rt, "failures"),
			Window:   rapid.SampledFrom([]time.Duration{2 * time.Second, 10 * time.Second}).Draw(rt, "window"),
			Cooldown: time.Second, MaxCooldown: rapid.SampledFrom([]time.Duration{0, 3 * time.Second}).Draw(rt, "cap"),
		}.WithDefaults()
		p := newProvider(cfg, Options{}.withDefaults())
		m := &circuitModel{cfg: cfg, factor: 1}
		m.gen = s.circuit(s.run(restoreScript, p, p.restoreArgs(nil, time.Now())...)).gen
		type call struct {
			gen   int64
			probe bool
		}
		var calls []call
		agree := func(reply []any) {
			c := s.circuit(reply)
			if c.state != m.state || c.manual != m.manual || c.trips != m.trips || c.gen < m.gen {
				rt.Fatalf("circuit %+v, model %+v", c, *m)
			}
			m.gen = c.gen
		}
		rt.Repeat(map[string]func(*rapid.T){
			"time passes": func(rt *rapid.T) {
				s.advance(time.Duration(rapid.IntRange(1, 3000).Draw(rt, "ms")) * time.Millisecond)
			},
			"a call enters": func(rt *rapid.T) {
				patience := time.Duration(rapid.IntRange(0, 2000).Draw(rt, "ms")) * time.Millisecond
				gen := m.gen
				code, probe := m.enter(s.now, patience)
				reply := s.run(enterScript, p, p.enterArgs(patience)...)
				if reply[0] != code || (reply[2] == int64(1)) != probe {
					rt.Fatalf("enter: %v, want code %d, probe %v", reply, code, probe)
				}
				agree(reply)
				if probe && m.gen == gen {
					rt.Fatal("a probe has the generation of what was before")
				}
				if code == granted {
					calls = append(calls, call{m.gen, probe})
				}
			},
			"a call ends": func(rt *rapid.T) {
				if len(calls) == 0 {
					rt.Skip("none is under way")
				}
				i := rapid.IntRange(0, len(calls)-1).Draw(rt, "which")
				c := calls[i]
				calls = append(calls[:i], calls[i+1:]...)
				outcome := rapid.SampledFrom([]string{"failure", "failure", "success", "neutral"}).Draw(rt, "outcome")
				gen := m.gen
				turned := m.report(s.now, c.gen, c.probe, outcome)
				reply := s.run(reportScript, p, p.reportArgs(c.gen, outcome, c.probe)...)
				if (reply[0] == int64(1)) != turned {
					rt.Fatalf("report: %v, want turned %v", reply, turned)
				}
				agree(reply)
				if turned == (m.gen == gen) {
					rt.Fatalf("turned %v, generation %d after %d", turned, m.gen, gen)
				}
			},
			"the provider asks for a pause": func(rt *rapid.T) {
				d := time.Duration(rapid.IntRange(1, 4000).Draw(rt, "ms")) * time.Millisecond
				m.paused = max(m.paused, s.now+d.Microseconds())
				agree(s.run(holdScript, p, p.hold(d, false, 0, "")...))
			},
			"it says 429": func(rt *rapid.T) {
				if s.now-m.lowed >= resilience.SlowEvery.Microseconds() {
					m.factor = max(m.part(s.now)*resilience.SlowBy, resilience.MinRate)
					m.factorAt, m.lowed = s.now, s.now
				}
				reply := s.run(holdScript, p, p.hold(0, true, 0, "")...)
				agree(reply)
				if got := float64(s.circuit(reply).factor) / million; got < m.factor-1e-4 || got > m.factor+1e-4 {
					rt.Fatalf("factor %v, want %v", got, m.factor)
				}
			},
			"its quota is used up": func(rt *rapid.T) {
				d := time.Duration(rapid.IntRange(1, 4000).Draw(rt, "ms")) * time.Millisecond
				m.parked = max(m.parked, s.now+d.Microseconds())
				agree(s.run(holdScript, p, p.hold(0, false, d.Microseconds(), "quota_exhausted")...))
			},
			"somebody opens it": func(*rapid.T) {
				if m.state != gobreaker.StateOpen {
					m.trips++
				}
				m.state, m.manual, m.retry = gobreaker.StateOpen, true, 0
				agree(s.run(switchScript, p, "open"))
			},
			"somebody closes it": func(*rapid.T) {
				m.state, m.manual, m.failures, m.paused, m.parked = gobreaker.StateClosed, false, nil, 0, 0
				m.factor, m.factorAt, m.lowed = 1, 0, 0
				agree(s.run(switchScript, p, "close"))
			},
			"": func(rt *rapid.T) {
				reply := s.run(readScript, p, cfg.Window.Microseconds())
				agree(reply)
				if want := int64(m.recent(s.now)); reply[1] != want {
					rt.Fatalf("%v failures, want %d", reply[1], want)
				}
			},
		})
	})
}

// slotsModel says in Go when calls may start.
type slotsModel struct {
	limits  []resilience.Limit
	spacing int64
	starts  []int64
}

func (m *slotsModel) next(now int64) int64 {
	slot := now
	if n := len(m.starts); n > 0 {
		slot = max(slot, m.starts[n-1]+m.spacing)
	}
	for {
		again := slot
		for _, l := range m.limits {
			window := (l.Per + l.Guard()).Microseconds()
			within := 0
			for _, at := range m.starts {
				if at > again-window {
					within++
				}
			}
			if within >= l.Rate { // wait until the oldest of the last Rate ones has left
				again = m.starts[len(m.starts)-l.Rate] + window
			}
		}
		if again == slot {
			return slot
		}
		slot = again
	}
}

// enter.lua hands out the slots that the model does, which counts the calls in
// every window.
func TestSlotScriptAgainstTheModel(t *testing.T) {
	s := newScripted(t)
	rapid.Check(t, func(rt *rapid.T) {
		s.reset(rt)
		cfg := resilience.GateConfig{Provider: "p", Limits: rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) resilience.Limit {
			return resilience.Limit{
				Rate: rapid.IntRange(1, 12).Draw(rt, "rate"),
				Per:  rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Second, time.Minute}).Draw(rt, "per"),
			}
		}), 1, 3).Draw(rt, "limits")}.WithDefaults()
		p := newProvider(cfg, Options{}.withDefaults())
		m := &slotsModel{limits: cfg.Limits, spacing: p.spacing.Microseconds()}
		s.run(restoreScript, p, p.restoreArgs(nil, time.Now())...)
		for range rapid.IntRange(1, 60).Draw(rt, "calls") {
			s.advance(time.Duration(rapid.IntRange(0, 1500).Draw(rt, "ms")) * time.Millisecond)
			patience := time.Duration(rapid.IntRange(0, 5000).Draw(rt, "patience")) * time.Millisecond
			slot := m.next(s.now)
			want := int64(granted)
			if slot-s.now > patience.Microseconds() {
				want = noSlotYet
			} else {
				m.starts = append(m.starts, slot)
			}
			reply := s.run(enterScript, p, p.enterArgs(patience)...)
			if reply[0] != want || reply[1] != slot-s.now {
				rt.Fatalf("enter: %v, want code %d, wait %d", reply, want, slot-s.now)
			}
		}
		for _, l := range cfg.Limits {
			for i := l.Rate; i < len(m.starts); i++ {
				if gap := micros(m.starts[i] - m.starts[i-l.Rate]); gap < l.Per {
					rt.Fatalf("%d calls within %s, against %s", l.Rate+1, gap, l)
				}
			}
		}
	})
}

// When the server's clock is set back, deadlines move with it: nobody waits for
// the time that passes twice.
func TestClockSetBack(t *testing.T) {
	s := newScripted(t)
	rapid.Check(t, func(rt *rapid.T) {
		s.reset(rt)
		cfg := resilience.GateConfig{Provider: "p", Failures: 1, Limits: []resilience.Limit{{Rate: 1, Per: time.Second}}}.WithDefaults()
		p := newProvider(cfg, Options{}.withDefaults())
		c := s.circuit(s.run(restoreScript, p, p.restoreArgs(nil, time.Now())...))
		if reply := s.run(enterScript, p, p.enterArgs(0)...); reply[0] != int64(granted) {
			rt.Fatalf("enter: %v", reply)
		}
		open := s.circuit(s.run(reportScript, p, p.reportArgs(c.gen, "failure", false)...))
		back := time.Duration(rapid.IntRange(3600, 100_000_000).Draw(rt, "seconds")) * time.Second
		s.advance(-back)
		reply := s.run(enterScript, p, p.enterArgs(0)...)
		if reply[0] != int64(isOpen) || reply[1] != cfg.Cooldown.Microseconds() {
			rt.Fatalf("after the clock was set back by %s: %v", back, reply)
		}
		s.advance(cfg.Cooldown)
		reply = s.run(enterScript, p, p.enterArgs(2*time.Second)...)
		if reply[0] != int64(granted) || reply[1].(int64) > (2*time.Second).Microseconds() {
			rt.Fatalf("after the cooldown: %v", reply)
		}
		if got := s.circuit(reply); got.gen <= open.gen || got.ver <= open.ver {
			rt.Fatalf("generation %d after %d", got.gen, open.gen)
		}
	})
}
