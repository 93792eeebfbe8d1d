package resilience

import "sync"

// transitions hands changes to a hook: in order, one at a time, outside any lock.
type transitions struct {
	hook func(Transition)

	mu       sync.Mutex
	queue    []Transition
	draining bool
}

// deliver hands over what p has gathered. Whoever finds the hook at work leaves
// its changes to that goroutine, so a hook may call the gate.
func (t *transitions) deliver(p *localProvider) {
	p.mu.Lock()
	changes := p.circuit.changes
	p.circuit.changes = nil
	if t.hook == nil || len(changes) == 0 {
		p.mu.Unlock()
		return
	}
	t.mu.Lock()
	p.mu.Unlock()
	t.queue = append(t.queue, changes...)
	if t.draining {
		t.mu.Unlock()
		return
	}
	t.draining = true
	for len(t.queue) > 0 {
		next := t.queue[0]
		t.queue = t.queue[1:]
		t.mu.Unlock()
		t.hook(next)
		t.mu.Lock()
	}
	t.draining = false
	t.mu.Unlock()
}
