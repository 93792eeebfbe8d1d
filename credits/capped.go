package credits

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"backstop/chain"
)

// A capped provider is one with at least one cap.
type capped struct {
	name   string
	prefix string  // of its keys
	limits []limit // the day's before the month's

	asking   singleflight.Group // the reading that is under way
	renewing atomic.Bool        // somebody renews it although it may still be used

	mu      sync.Mutex
	latest  *reading
	expired bool // latest is to be renewed before it is used in Redis
	untold  []debt
	refused map[string]time.Time // by period: when the one begins whose end was announced
}

// A limit is a cap.
type limit struct {
	per     string
	credits float64
	micros  micros
}

// newCapped returns nil when the provider has no cap.
func newCapped(name, prefix string, c Caps) *capped {
	p := &capped{name: name, prefix: prefix + ":credits:{" + name + "}:", refused: map[string]time.Time{}}
	for _, l := range []limit{{per: perDay, credits: c.Day}, {per: perMonth, credits: c.Month}} {
		if l.credits > 0 {
			l.micros = microsOf(l.credits)
			p.limits = append(p.limits, l)
		}
	}
	if len(p.limits) == 0 {
		return nil
	}
	return p
}

// keys are the counters of the periods that contain t, in the order of the limits.
func (p *capped) keys(t time.Time) []string {
	keys := make([]string, len(p.limits))
	for i, l := range p.limits {
		keys[i] = p.prefix + label(l.per, spanOf(l.per, t).begins)
	}
	return keys
}

// reached is the error of a call at t that the i-th limit has no room for.
func (p *capped) reached(i int, t time.Time) *chain.CapReached {
	l := p.limits[i]
	return &chain.CapReached{Provider: p.name, Cap: l.credits, Per: l.per, Until: spanOf(l.per, t).ends}
}

// announces reports whether this is the first refusal of the i-th limit's period.
func (p *capped) announces(i int, t time.Time) bool {
	per := p.limits[i].per
	begins := spanOf(per, t).begins
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused[per].Equal(begins) {
		return false
	}
	p.refused[per] = begins
	return true
}

// A debt is what a call cost, for a Redis that does not know it yet.
type debt struct {
	id    string
	spent micros
}

const (
	mostUntold    = 10_000 // what is beyond stays counted in Redis
	untoldAtATime = 100
)

// owe keeps debts that Redis could not be told, for the next call that
// reaches it. To tell it twice does no harm.
func (p *capped) owe(all ...debt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.untold = append(p.untold, all[:min(len(all), mostUntold-len(p.untold))]...)
}

// owed takes some of them out.
func (p *capped) owed() []debt {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(len(p.untold), untoldAtATime)
	some := p.untold[:n:n]
	p.untold = p.untold[n:]
	return some
}
