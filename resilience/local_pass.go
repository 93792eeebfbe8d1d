package resilience

// A localPass is a call that a LocalGate let pass.
type localPass struct {
	gate  *LocalGate
	p     *localProvider
	done  func(error)
	probe bool
	ended bool // guarded by p.mu
}

func (l *localPass) Probe() bool { return l.probe }

func (l *localPass) Done(r Result) {
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
func (l *localPass) end(err error) {
	l.ended = true
	l.done(err)
	l.p.circuit.settle(l)
}
