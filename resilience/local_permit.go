package resilience

// A localPermit is a call that a LocalGate let pass.
type localPermit struct {
	gate  *LocalGate
	p     *localProvider
	done  func(error)
	probe bool
	ended bool // guarded by p.mu
}

func (l *localPermit) Probe() bool { return l.probe }

func (l *localPermit) Done(r Result) {
	defer l.gate.hooks.deliver(l.p)
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if l.ended {
		return
	}
	l.p.obey(r, l.gate.now())
	l.end(verdict(r))
}

// end gives the call's result to the circuit, once; the caller holds the lock.
func (l *localPermit) end(err error) {
	l.ended = true
	l.done(err)
	l.p.circuit.settle(l)
}
