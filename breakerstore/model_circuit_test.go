package breakerstore

import (
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"
	"pgregory.net/rapid"

	"backstop/resilience"
)

// circuitModel says in Go what the scripts must do with a circuit.
type circuitModel struct {
	cfg               resilience.GateConfig
	state             gobreaker.State
	manual            bool
	gen               int64
	failures          []int64
	retry, lease      int64
	cooldown          time.Duration
	paused, suspended int64
	trips             int64
	factor            float64
	factorAt, lowed   int64
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

// acquire says with which code acquire.lua must reply, and takes the probe.
func (m *circuitModel) acquire(now int64, maxWait time.Duration) (code int64, probe bool) {
	switch {
	case m.manual:
		return isOpen, false
	case m.suspended > now:
		return isSuspended, false
	case m.state == gobreaker.StateOpen && m.retry > now:
		return isOpen, false
	case m.state == gobreaker.StateHalfOpen && m.lease > now:
		return isProbing, false
	case m.paused-now > maxWait.Microseconds():
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
			"time permits": func(rt *rapid.T) {
				s.advance(time.Duration(rapid.IntRange(1, 3000).Draw(rt, "ms")) * time.Millisecond)
			},
			"a call begins": func(rt *rapid.T) {
				maxWait := time.Duration(rapid.IntRange(0, 2000).Draw(rt, "ms")) * time.Millisecond
				gen := m.gen
				code, probe := m.acquire(s.now, maxWait)
				reply := s.run(acquireScript, p, p.acquireArgs(maxWait)...)
				if reply[0] != code || (reply[2] == int64(1)) != probe {
					rt.Fatalf("acquire: %v, want code %d, probe %v", reply, code, probe)
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
				agree(s.run(throttleScript, p, p.throttle(d, false, 0, "")...))
			},
			"it says 429": func(rt *rapid.T) {
				if s.now-m.lowed >= resilience.SlowEvery.Microseconds() {
					m.factor = max(m.part(s.now)*resilience.SlowBy, resilience.MinRate)
					m.factorAt, m.lowed = s.now, s.now
				}
				reply := s.run(throttleScript, p, p.throttle(0, true, 0, "")...)
				agree(reply)
				if got := float64(s.circuit(reply).factor) / million; got < m.factor-1e-4 || got > m.factor+1e-4 {
					rt.Fatalf("factor %v, want %v", got, m.factor)
				}
			},
			"its quota is used up": func(rt *rapid.T) {
				d := time.Duration(rapid.IntRange(1, 4000).Draw(rt, "ms")) * time.Millisecond
				m.suspended = max(m.suspended, s.now+d.Microseconds())
				agree(s.run(throttleScript, p, p.throttle(0, false, d.Microseconds(), "quota_exhausted")...))
			},
			"somebody opens it": func(*rapid.T) {
				if m.state != gobreaker.StateOpen {
					m.trips++
				}
				m.state, m.manual, m.retry = gobreaker.StateOpen, true, 0
				agree(s.run(switchScript, p, "open"))
			},
			"somebody closes it": func(*rapid.T) {
				m.state, m.manual, m.failures, m.paused, m.suspended = gobreaker.StateClosed, false, nil, 0, 0
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
