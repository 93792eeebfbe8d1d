package breakerstore

import (
	"testing"
	"time"

	"backstop/resilience"
)

// Two calls at the very same time are two slots of the same value. A late slot was
// once put between them, which lost it and left the slots out of order.
func TestALateSlotGoesBehindEqualOnes(t *testing.T) {
	s := newScripted(t)
	s.reset(t)
	cfg := resilience.GateConfig{Provider: "p", Limits: []resilience.Limit{{Rate: 2, Per: 3 * time.Second}}}.WithDefaults()
	p := newProvider(cfg, Options{}.withDefaults())
	s.run(restoreScript, p, p.restoreArgs(nil, time.Now())...)
	for range 2 {
		if reply := s.run(acquireScript, p, p.acquireArgs(0)...); reply[0] != int64(granted) || reply[1] != int64(0) {
			t.Fatalf("acquire: %v", reply)
		}
	}
	reply := s.run(acquireScript, p, p.acquireArgs(5*time.Second)...)
	wait := reply[1].(int64)
	at := s.now + wait
	const late = 30 * time.Millisecond
	s.advance(micros(wait) + late)
	g := &Gate{o: Options{Timeout: 5 * time.Second}, rdb: s.rdb}
	if moved, err := g.moveSlot(t.Context(), p, booked(at), late); err != nil || moved != s.now {
		t.Errorf("moved to %d, %v, want %d", moved, err, s.now)
	}
}
