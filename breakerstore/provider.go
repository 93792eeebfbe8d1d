package breakerstore

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/lead"
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
	limits  []any         // as arguments of enter.lua
	line    line

	view  atomic.Pointer[view] // nil until Redis was heard for the first time
	calls atomic.Int64         // good ones not yet reported, for the failure ratio
	alone atomic.Int64         // calls made while Redis was away
	owes  atomic.Bool          // Redis lost the slots; ours must be entered again

	mu      sync.Mutex // guards what follows, and the order of views and transitions
	told    gobreaker.State
	barren  time.Time // no slot is free before this time
	retryAt time.Time // what the last caller was told for whom there was no slot
}

// seenFor is how long a replica counts that is not heard of.
const seenFor = 10 * time.Second

// reserved is how many slots the fleet may have reserved in advance and still
// find the past ones.
const reserved = 64

// spread is over how many times the patience refused callers are spread.
const spread = 5

func newProvider(cfg resilience.GateConfig, o Options) *provider {
	p := &provider{cfg: cfg, spacing: resilience.Spacing(cfg.Limits)}
	for _, part := range []string{"circuit", "failures", "reporters", "calls", "slots"} {
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

func (p *provider) limited() bool { return p.keep > 0 }

// fingerprint stands for the key in use, also if there is none.
func (p *provider) fingerprint() string {
	if p.cfg.Fingerprint == "" {
		return "-"
	}
	return p.cfg.Fingerprint
}

func (p *provider) args(more []any) []any {
	return append(append(make([]any, 0, len(p.head)+len(more)), p.head...), more...)
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

// enterArgs are the arguments of enter.lua.
func (p *provider) enterArgs(patience time.Duration) []any {
	args := []any{
		p.fingerprint(), max(patience, 0).Microseconds(), (2*p.cfg.MaxWait + time.Second).Microseconds(),
		p.cfg.Lease().Microseconds(), int64(resilience.Climb * million), p.spacing.Microseconds(),
		p.keepFor().Microseconds(), p.keep,
	}
	return append(args, p.limits...)
}

// reportArgs are the arguments of report.lua.
func (p *provider) reportArgs(gen int64, outcome string, probe bool) []any {
	var calls int64
	if p.cfg.FailureRatio > 0 {
		calls = p.calls.Swap(0) + 1
	}
	return []any{
		gen, outcome, flag(probe), p.cfg.Failures, p.cfg.Window.Microseconds(), p.cfg.Window.String(),
		p.cfg.Cooldown.Microseconds(), p.cfg.MaxCooldown.Microseconds(), max(p.cfg.MinReplicas, 1),
		int64(p.cfg.FailureRatio * million), p.cfg.MinCalls, calls,
	}
}

// holdArgs are the arguments of hold.lua; ok is false when r asks for nothing.
func (p *provider) holdArgs(r resilience.Result, now time.Time) (args []any, ok bool) {
	pause := p.cfg.PauseFor(r)
	slow := r.Class == lead.ClassRateLimited
	var park int64
	if until := p.cfg.SuspendUntil(r, now); until.Equal(resilience.Indefinitely) {
		park = -1
	} else if !until.IsZero() {
		park = max(until.Sub(now).Microseconds(), 1)
	}
	return p.hold(pause, slow, park, string(r.Class)), pause > 0 || slow || park != 0
}

func (p *provider) hold(pause time.Duration, slow bool, park int64, class string) []any {
	return []any{
		pause.Microseconds(), flag(slow), int64(resilience.SlowBy * million), int64(resilience.MinRate * million),
		int64(resilience.Climb * million), resilience.SlowEvery.Microseconds(), park, class, p.fingerprint(),
	}
}

// brief is how many calls fill the shortest window, if it is a second at most.
// A Redis that lost the slots begins with it full: the replicas need a moment to
// enter what they know.
func (p *provider) brief() int {
	n := 0
	for _, l := range p.cfg.Limits {
		if l.Per <= time.Second {
			n = max(n, l.Rate)
		}
	}
	return n
}

// restoreArgs are the arguments of restore.lua: all that v, which may be nil,
// knows, as durations from now.
func (p *provider) restoreArgs(v *view, now time.Time) []any {
	spent := 0
	if v == nil {
		v = &view{snapshot: snapshot{factor: million}, seen: now}
	} else {
		spent = p.brief()
	}
	left := func(t time.Time) int64 { return max(t.Sub(now).Microseconds(), 0) }
	ago := v.now - v.since + now.Sub(v.seen).Microseconds()
	if v.since == 0 {
		ago = 0
	}
	return []any{
		v.ver, v.gen, int(v.state), flag(v.manual), left(v.retryAt), v.cooldown, left(v.pausedUntil), left(v.suspendedUntil),
		v.trips, int64(v.part(now) * million), v.suspendedFor, v.auth, v.replica, v.cause, ago,
		spent, p.keep, p.keepFor().Microseconds(),
	}
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// adopt makes s the replica's view, unless it knows a newer one, and tells of the
// transition, if there is one. tell is nil while the local gate decides.
func (p *provider) adopt(s snapshot, seen time.Time, replica string, tell func(resilience.Transition)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.view.Load()
	if old != nil && s.ver <= old.ver {
		return
	}
	p.barren = time.Time{}
	p.view.Store(look(s, seen, p.fingerprint()))
	if old != nil && s.epoch != old.epoch && p.limited() {
		p.owes.Store(true)
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

// decided makes a change of the local gate the one to tell of.
func (p *provider) decided(t resilience.Transition, tell func(resilience.Transition)) {
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
	v := p.view.Load()
	if v == nil || p.told == v.state {
		return
	}
	tell(resilience.Transition{
		Provider: p.cfg.Provider, From: p.told, To: v.state, At: now.UTC(), Reason: "the shared state is back",
	})
	p.told = v.state
}

// noSlot is the refusal of a call that cannot have a slot before at. Those that
// are refused after it are told later times, every apart, so that they do not all
// come back at once; what they are told is no queue, and does not grow for ever.
func (p *provider) noSlot(at time.Time, every time.Duration) *resilience.Refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.retryAt.Add(every)
	if next.Before(at) || next.Sub(at) > spread*p.cfg.MaxWait {
		next = at
	}
	p.retryAt = next
	return &resilience.Refusal{Provider: p.cfg.Provider, Reason: resilience.ReasonRate, RetryAt: wall(next)}
}

// isBarren notes that no slot is free before at.
func (p *provider) isBarren(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.barren = at
}

// barrenUntil is before when no slot is free, as far as it is known.
func (p *provider) barrenUntil() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.barren
}

// parseEvent reads a message of the channel.
func parseEvent(text string) (provider string, s snapshot, err error) {
	for i := range len(text) {
		if text[i] == '\t' {
			s, err = parseSnapshot(text[i+1:])
			return text[:i], s, err
		}
	}
	return "", snapshot{}, errReply
}

// holdsOf are the arguments of hold.lua for the pause and parking that the local
// gate knows; ok is false when there are none.
func (p *provider) holdsOf(c resilience.Circuit, now time.Time) (args []any, ok bool) {
	pause := max(c.PausedUntil.Sub(now), 0)
	var park int64
	if c.SuspendedUntil.Equal(resilience.Indefinitely) {
		park = -1
	} else if c.SuspendedUntil.After(now) {
		park = c.SuspendedUntil.Sub(now).Microseconds()
	}
	return p.hold(pause, false, park, c.SuspendedFor), pause > 0 || park != 0
}
