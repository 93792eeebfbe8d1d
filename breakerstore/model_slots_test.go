package breakerstore

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"backstop/resilience"
)

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

// late moves the slot of a caller that came late, or gives it up.
func (m *slotsModel) late(slot, now int64) (at int64) {
	i := slices.Index(m.starts, slot)
	starts := slices.Delete(slices.Clone(m.starts), i, i+1)
	k, _ := slices.BinarySearch(starts, now+1)
	with := slices.Insert(slices.Clone(starts), k, now)
	for _, l := range m.limits {
		if l.Guard()/2 > micros(now-slot) {
			continue
		}
		for i := max(k-l.Rate, 0); i <= k && i+l.Rate < len(with); i++ {
			if micros(with[i+l.Rate]-with[i]) < l.Per+l.Guard()/2 {
				m.starts = starts
				return 0
			}
		}
	}
	m.starts = with
	return now
}

// acquire.lua hands out the slots that the model does, which counts the calls in
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
		var ahead []int64
		g := &Gate{o: Options{Timeout: 5 * time.Second}, rdb: s.rdb}
		for range rapid.IntRange(1, 60).Draw(rt, "calls") {
			s.advance(time.Duration(rapid.IntRange(0, 300).Draw(rt, "ms")) * time.Millisecond)
			maxWait := time.Duration(rapid.IntRange(0, 5000).Draw(rt, "maxWait")) * time.Millisecond
			slot := m.next(s.now)
			want := int64(granted)
			if slot-s.now > maxWait.Microseconds() {
				want = noSlotYet
			} else {
				m.starts = append(m.starts, slot)
			}
			reply := s.run(acquireScript, p, p.acquireArgs(maxWait)...)
			if reply[0] != want || reply[1] != slot-s.now {
				rt.Fatalf("acquire: %v, want code %d, wait %d", reply, want, slot-s.now)
			}
			if want == granted {
				ahead = append(ahead, slot)
			}
			ahead = slices.DeleteFunc(ahead, func(at int64) bool { return at < s.now }) // those came in time
			if len(ahead) == 0 || rapid.IntRange(0, 3).Draw(rt, "inTime") > 0 {
				continue
			}
			i := rapid.IntRange(0, len(ahead)-1).Draw(rt, "which")
			slot = ahead[i]
			ahead = slices.Delete(ahead, i, i+1)
			late := time.Duration(rapid.IntRange(0, 400).Draw(rt, "late")) * time.Millisecond
			s.advance(micros(slot-s.now) + late)
			at, err := g.moveSlot(t.Context(), p, booked(slot), late)
			if want := m.late(slot, s.now); err != nil || at != want {
				rt.Fatalf("a slot that is %s late: moved to %d, %v, want %d", late, at, err, want)
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
// the time that permits twice.
func TestClockSetBack(t *testing.T) {
	s := newScripted(t)
	rapid.Check(t, func(rt *rapid.T) {
		s.reset(rt)
		cfg := resilience.GateConfig{Provider: "p", Failures: 1, Limits: []resilience.Limit{{Rate: 1, Per: time.Second}}}.WithDefaults()
		p := newProvider(cfg, Options{}.withDefaults())
		c := s.circuit(s.run(restoreScript, p, p.restoreArgs(nil, time.Now())...))
		if reply := s.run(acquireScript, p, p.acquireArgs(0)...); reply[0] != int64(granted) {
			rt.Fatalf("acquire: %v", reply)
		}
		open := s.circuit(s.run(reportScript, p, p.reportArgs(c.gen, "failure", false)...))
		back := time.Duration(rapid.IntRange(3600, 100_000_000).Draw(rt, "seconds")) * time.Second
		s.advance(-back)
		reply := s.run(acquireScript, p, p.acquireArgs(0)...)
		if reply[0] != int64(isOpen) || reply[1] != cfg.Cooldown.Microseconds() {
			rt.Fatalf("after the clock was set back by %s: %v", back, reply)
		}
		s.advance(cfg.Cooldown)
		reply = s.run(acquireScript, p, p.acquireArgs(2*time.Second)...)
		if reply[0] != int64(granted) || reply[1].(int64) > (2*time.Second).Microseconds() {
			rt.Fatalf("after the cooldown: %v", reply)
		}
		if got := s.circuit(reply); got.gen <= open.gen || got.ver <= open.ver {
			rt.Fatalf("generation %d after %d", got.gen, open.gen)
		}
	})
}

// booked is a slot that was granted for this time.
func booked(at int64) slot { return slot{code: granted, at: at} }
