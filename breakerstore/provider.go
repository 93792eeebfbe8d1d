package breakerstore

// What a replica knows of one provider.

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/resilience"
)

// A provider is what a replica knows of one provider.
type provider struct {
	cfg  resilience.GateConfig
	keys []string
	head []any // the arguments that every script gets

	spacing time.Duration
	longest time.Duration // of the limits' windows, with its guard
	keep    int           // slots to remember
	limits  []any         // as arguments of acquire.lua
	queue   queue

	circuit   atomic.Pointer[circuit] // nil until Redis first answered
	calls     atomic.Int64            // good ones not yet reported, for the failure ratio
	alone     atomic.Int64            // calls made while Redis was away
	slotsLost atomic.Bool             // Redis lost the slots; ours must be recorded again

	mu      sync.Mutex // guards what follows, and the order of circuits and transitions
	told    gobreaker.State
	full    time.Time // no slot is free before this time
	retryAt time.Time // what the last caller was told for whom there was no slot
}

// replicaTTL is how long a replica counts that gives no sign of life.
const replicaTTL = 10 * time.Second

// reserved is how many slots the fleet may have reserved in advance and still
// find the past ones.
const reserved = 64

// retrySpread is over how many times MaxWait the refused callers' retries are spread.
const retrySpread = 5

func newProvider(cfg resilience.GateConfig, o Options) *provider {
	p := &provider{cfg: cfg, spacing: resilience.Spacing(cfg.Limits)}
	for _, part := range []string{"circuit", "failures", "calls", "slots"} {
		p.keys = append(p.keys, o.Prefix+":gate:{"+cfg.Provider+"}:"+part)
	}
	p.head = []any{channel(o.Prefix), cfg.Provider, o.Replica}
	for _, l := range cfg.Limits {
		window := l.Per + l.Guard()
		p.longest = max(p.longest, window)
		p.keep = max(p.keep, l.Rate+reserved)
		p.limits = append(p.limits, l.Rate, window.Microseconds())
	}
	return p
}

func channel(prefix string) string { return prefix + ":gate:events" }

func replicasKey(prefix string) string { return prefix + ":gate:replicas" }

// provider returns what is known of a provider, which may be new.
func (g *Gate) provider(name string) *provider {
	if p, ok := (*g.providers.Load())[name]; ok {
		return p
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	known := *g.providers.Load()
	if p, ok := known[name]; ok {
		return p
	}
	p := newProvider(resilience.GateConfig{Provider: name}.WithDefaults(), g.o)
	all := maps.Clone(known)
	all[name] = p
	g.providers.Store(&all)
	return p
}

// all lists the known providers.
func (g *Gate) all() []*provider { return slices.Collect(maps.Values(*g.providers.Load())) }

func (p *provider) limited() bool { return p.keep > 0 }

// fingerprint stands for the key in use, also if there is none.
func (p *provider) fingerprint() string {
	if p.cfg.Fingerprint == "" {
		return "-"
	}
	return p.cfg.Fingerprint
}

// keepFor is how long a slot matters.
func (p *provider) keepFor() time.Duration { return p.longest + p.cfg.MaxWait + time.Second }

// lateness is how late a slot may be used without endangering any limit. The
// other half of the guard is for the way from here to the provider.
func (p *provider) lateness() time.Duration {
	guard := p.longest
	for _, l := range p.cfg.Limits {
		guard = min(guard, l.Guard())
	}
	return guard / 2
}

// maxAhead is how many slots a replica may reserve in advance: few, and fewer
// when the fleet's slots would fill the shortest window or reach too far into the
// other callers' MaxWait. share is how far apart this replica's slots are.
func (p *provider) maxAhead(share time.Duration) int {
	bound := p.cfg.MaxWait / 2
	for _, l := range p.cfg.Limits {
		bound = min(bound, l.Per)
	}
	if 2*share > bound {
		return 1
	}
	return 2
}

// burst is how many calls fill the shortest window, if it is a second at most.
// A Redis that lost the slots begins with it full: the replicas need a moment to
// record what they know.
func (p *provider) burst() int {
	n := 0
	for _, l := range p.cfg.Limits {
		if l.Per <= time.Second {
			n = max(n, l.Rate)
		}
	}
	return n
}

// adopt makes s the replica's circuit, unless it knows a newer one, and tells of the
// transition, if there is one. tell is nil while the local gate decides.
func (p *provider) adopt(s snapshot, seen time.Time, replica string, tell func(resilience.Transition)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.circuit.Load()
	if old != nil && s.ver <= old.ver {
		return
	}
	p.full = time.Time{}
	p.circuit.Store(newCircuit(s, seen, p.fingerprint()))
	if old != nil && s.epoch != old.epoch && p.limited() {
		p.slotsLost.Store(true)
	}
	if old == nil {
		p.told = s.state // what was so before this replica came is no transition
	}
	if from := p.told; tell != nil && from != s.state {
		p.told = s.state
		tell(resilience.Transition{
			Provider: p.cfg.Provider, From: from, To: s.state, Own: s.replica == replica,
			At: time.UnixMicro(s.since).UTC(), Reason: s.cause,
		})
	}
}

// changedAlone tells of a change of the local gate.
func (p *provider) changedAlone(t resilience.Transition, tell func(resilience.Transition)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.From = p.told; t.From != t.To {
		p.told = t.To
		tell(t)
	}
}

// resume tells of the shared state where the local gate had come to another one.
func (p *provider) resume(now time.Time, tell func(resilience.Transition)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.circuit.Load()
	if c == nil || p.told == c.state {
		return
	}
	tell(resilience.Transition{
		Provider: p.cfg.Provider, From: p.told, To: c.state, At: now.UTC(), Reason: "the shared state is back",
	})
	p.told = c.state
}

// noSlot is the refusal of a call that cannot have a slot before at. Those that
// are refused after it are told later times, every apart, so that they do not all
// come back at once. These times reserve nothing, and do not grow for ever.
func (p *provider) noSlot(at time.Time, every time.Duration) *resilience.Refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.retryAt.Add(every)
	if next.Before(at) || next.Sub(at) > retrySpread*p.cfg.MaxWait {
		next = at
	}
	p.retryAt = next
	return &resilience.Refusal{Provider: p.cfg.Provider, Reason: resilience.ReasonRate, RetryAt: wall(next)}
}

// setFull notes that no slot is free before at.
func (p *provider) setFull(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.full = at
}

// fullUntil is before when no slot is free, as far as it is known.
func (p *provider) fullUntil() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.full
}
