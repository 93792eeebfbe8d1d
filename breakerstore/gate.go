package breakerstore

// The beginning: building a gate, its goroutines, and shutting it down.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"backstop/resilience"
)

// Options are the options of a [Gate]. The zero value is usable.
type Options struct {
	// Prefix begins the name of every key and channel. Default "backstop".
	Prefix string
	// Replica is this replica's name among the others. Default: a random one.
	Replica string
	// Hook is told of every change of a circuit: in order, by one goroutine of the
	// gate's own, outside any lock. Own says whether this replica made it.
	Hook func(resilience.Transition)
	// Logger gets each change, and when Redis goes and comes.
	Logger zerolog.Logger
	// Timeout is the longest that a caller waits for Redis. Default 75 ms.
	Timeout time.Duration
	// Poll is how often the circuits are read in case a message was lost.
	// Default 250 ms.
	Poll time.Duration
	// Now is the clock by which this replica decides. Default time.Now. Waits
	// and time-outs always follow the runtime's clock.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Prefix == "" {
		o.Prefix = "backstop"
	}
	if o.Replica == "" {
		o.Replica = uuid.NewString()
	}
	if o.Timeout == 0 {
		o.Timeout = 75 * time.Millisecond
	}
	if o.Poll == 0 {
		o.Poll = 250 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func (o Options) validate() error {
	switch {
	case strings.ContainsAny(o.Prefix, "{}\t "):
		return fmt.Errorf("key prefix %q: braces and blanks are not allowed", o.Prefix)
	case strings.ContainsAny(o.Replica, "\t\n"):
		return fmt.Errorf("replica name %q: tabs are not allowed", o.Replica)
	case o.Timeout < 0 || o.Poll < 0:
		return errors.New("a time-out of the gate is negative")
	}
	return nil
}

// A Gate is one replica's part of the fleet's gate.
//
//	            the first call that Redis fails,
//	            or two reads in a row
//	 shared  ---------------------------------->  alone
//	(Redis)  <----------------------------------  (resilience.LocalGate)
//	            every circuit was read again and
//	            what was done alone was recorded
type Gate struct {
	o     Options
	rdb   redis.UniversalClient
	local *resilience.LocalGate

	mu        sync.Mutex // guards changes of providers
	providers atomic.Pointer[map[string]*provider]

	away     atomic.Bool
	modeMu   sync.Mutex // guards changes of away, and since
	since    time.Time  // when Redis was lost
	active   atomic.Bool
	replicas atomic.Int64

	hooks    hooks
	stop     context.CancelFunc
	owned    sync.WaitGroup // the gate's goroutines
	inflight inflight       // calls of Redis, including those nobody waits for any more
}

var _ resilience.Gate = (*Gate)(nil)

// New returns a gate for the configured providers and starts its goroutines,
// which [Gate.Shutdown] ends. It does not need Redis: without it the replica
// decides alone. A provider that is not configured gets the defaults and no
// limits. A gate on which nobody calls Acquire only reads, and counts as no replica.
//
// The client stays the caller's. One with ContextTimeoutEnabled gives up a call
// of Redis when those who waited for it do; any other one a little later.
func New(rdb redis.UniversalClient, configs []resilience.GateConfig, o Options) (*Gate, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	g := &Gate{o: o, rdb: rdb}
	all := make(map[string]*provider, len(configs))
	for _, c := range configs {
		c = c.WithDefaults()
		if err := check(c); err != nil {
			return nil, fmt.Errorf("gate: %w", err)
		}
		all[c.Provider] = newProvider(c, o)
	}
	g.providers.Store(&all)
	g.replicas.Store(1)
	g.local = resilience.NewLocalGate(configs, resilience.LocalOptions{Hook: g.localTransition, Now: o.Now})
	g.start()
	return g, nil
}

func check(c resilience.GateConfig) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if strings.ContainsAny(c.Provider, "{}\t\n") || strings.ContainsAny(c.Fingerprint, "\t\n ") {
		return fmt.Errorf("provider %q: braces, tabs and line ends are not allowed in its name, nor blanks in its fingerprint", c.Provider)
	}
	return nil
}

func (g *Gate) start() {
	ctx, stop := context.WithCancel(context.Background())
	g.stop = stop
	g.hooks.wake = make(chan struct{}, 1)
	changes := g.rdb.Subscribe(ctx, channel(g.o.Prefix))
	poll := make(chan struct{}, 1)
	g.owned.Go(func() { g.listen(ctx, changes, poll) })
	g.owned.Go(func() { g.watch(ctx, poll) })
	g.owned.Go(func() { g.hooks.deliver(ctx, g.announce) })
}

// Shutdown ends the gate's goroutines and waits for them, no longer than ctx.
// Calls that are under way are not waited for; their results are lost.
func (g *Gate) Shutdown(ctx context.Context) error {
	if g.active.Load() && !g.away.Load() {
		err := g.rdb.ZRem(ctx, replicasKey(g.o.Prefix), g.o.Replica).Err()
		if err != nil { // the others find out in replicaTTL
			g.o.Logger.Debug().Err(err).Msg("could not sign off")
		}
	}
	g.stop()
	g.inflight.close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.owned.Wait()
		g.inflight.wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("shut down the gate: %w", ctx.Err())
	}
}
