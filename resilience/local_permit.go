package resilience

// A localPermit is a call that a LocalGate allowed.
type localPermit struct {
	gate  *LocalGate
	p     *localProvider
	done  func(error)
	ended bool // guarded by p.mu
}

// Done implements [Permit].
func (l *localPermit) Done(r Result) {
	defer l.gate.hooks.deliver(l.p)
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if l.ended {
		return
	}
	l.p.obey(r, l.gate.now())
	l.p.circuit.end(l, outcome(r))
}
