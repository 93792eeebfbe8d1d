package breakerstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// patientReads is how many reads in a row may fail before the replica decides
// alone, if no caller has noticed before.
const patientReads = 2

// beatEvery is how often a replica says that it is there.
const beatEvery = time.Second

// watch reads every circuit now and then, and notices when Redis is back.
func (g *Gate) watch(ctx context.Context, look <-chan struct{}) {
	tick := time.NewTicker(g.o.Poll)
	defer tick.Stop()
	failed := 0
	var beat time.Time
	for {
		err := g.poll(ctx)
		if err == nil && g.active.Load() && time.Since(beat) >= beatEvery {
			if err = g.beat(ctx); err == nil {
				beat = time.Now()
			}
		}
		if err == nil && g.away.Load() {
			err = g.found(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failed = 0
		default:
			if failed++; failed >= patientReads {
				g.lost(err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-look:
		}
	}
}

// poll reads every circuit in one round trip and does what was put off.
func (g *Gate) poll(ctx context.Context) error {
	all := g.all()
	_, err := ask(ctx, g, g.o.Timeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, g.refresh(ctx, all)
	}, nil)
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := g.payDebt(ctx, p); err != nil {
			return err
		}
		if err := g.count(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// count reports good calls, for the failure ratio.
func (g *Gate) count(ctx context.Context, p *provider) error {
	n := p.calls.Swap(0)
	if n == 0 {
		return nil
	}
	_, err := ask(ctx, g, g.o.Timeout, func(ctx context.Context) ([]any, error) {
		return g.run(ctx, countScript, p, p.cfg.Window.Microseconds(), n)
	}, nil)
	if err != nil {
		return fmt.Errorf("report calls: %w", err)
	}
	return nil
}

// beat says that this replica is there, and learns how many there are.
func (g *Gate) beat(ctx context.Context) error {
	n, err := ask(ctx, g, g.o.Timeout, func(ctx context.Context) (int64, error) {
		return beatScript.Run(ctx, g.rdb, []string{replicasKey(g.o.Prefix)}, g.o.Replica, seenFor.Microseconds()).Int64()
	}, nil)
	if err != nil {
		return fmt.Errorf("say that this replica is there: %w", err)
	}
	g.replicas.Store(max(n, int64(g.o.Replicas)))
	return nil
}

// quiet is how long the channel may be silent before it is tried.
const quiet = 5 * time.Second

// listen adopts the circuits that others publish. go-redis subscribes again after
// an error; whatever was missed meanwhile is read.
func (g *Gate) listen(ctx context.Context, changes *redis.PubSub, look chan<- struct{}) {
	defer context.AfterFunc(ctx, func() { g.hangUp(changes) })()
	for ctx.Err() == nil {
		message, err := changes.ReceiveTimeout(ctx, quiet)
		if isTimeout(err) {
			err = changes.Ping(ctx)
		}
		if err != nil {
			// Nothing is lost but time: the circuits are polled.
			if sleep(ctx, g.o.Poll) != nil {
				break
			}
			continue
		}
		switch m := message.(type) {
		case *redis.Subscription:
			select {
			case look <- struct{}{}:
			default: // it is going to look already
			}
		case *redis.Message:
			g.heard(ctx, m.Payload)
		}
	}
	g.hangUp(changes)
}

func (g *Gate) hangUp(changes *redis.PubSub) {
	if err := changes.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		g.o.Logger.Debug().Err(err).Msg("close the subscription")
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// heard adopts one published circuit.
func (g *Gate) heard(ctx context.Context, text string) {
	name, circuit, err := parseEvent(text)
	if err != nil {
		g.o.Logger.Warn().Err(err).Str("event", "circuit").Msg("a message that cannot be read")
		return
	}
	p, ok := (*g.providers.Load())[name]
	if !ok {
		return // nobody has asked for it here
	}
	g.adopt(p, circuit)
	if g.away.Load() {
		return
	}
	if err := g.payDebt(ctx, p); err != nil && ctx.Err() == nil {
		g.lost(err)
	}
}
