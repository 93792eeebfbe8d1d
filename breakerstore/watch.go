package breakerstore

// The gate's goroutines: polling, heartbeat, and listening to the channel.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"backstop/clock"
)

// maxFailedReads is how many reads in a row may fail before the replica decides
// alone, if no caller has noticed before.
const maxFailedReads = 2

// heartbeatEvery is how often a replica says that it is there.
const heartbeatEvery = time.Second

// watch reads every circuit now and then, or when poll says so, and notices when
// Redis is back.
func (g *Gate) watch(ctx context.Context, poll <-chan struct{}) {
	tick := time.NewTicker(g.o.Poll)
	defer tick.Stop()
	failed := 0
	var beat time.Time
	for {
		err := g.poll(ctx)
		if err == nil && g.active.Load() && g.o.Now().Sub(beat) >= heartbeatEvery {
			if err = g.heartbeat(ctx); err == nil {
				beat = g.o.Now()
			}
		}
		if err == nil && g.away.Load() {
			err = g.redisBack(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failed = 0
		default:
			if failed++; failed >= maxFailedReads {
				g.redisLost(err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-poll:
		}
	}
}

// poll reads every circuit in one round trip and does what was put off.
func (g *Gate) poll(ctx context.Context) error {
	all := g.all()
	err := g.bounded(ctx, g.o.Timeout, func(ctx context.Context) error { return g.refresh(ctx, all) })
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := g.restoreSlots(ctx, p); err != nil {
			return err
		}
		if n := p.calls.Swap(0); n > 0 { // good calls, for the failure ratio
			if _, err := g.runBounded(ctx, countScript, p, p.cfg.Window.Microseconds(), n); err != nil {
				return fmt.Errorf("report calls: %w", err)
			}
		}
	}
	return nil
}

// heartbeat says that this replica is there, and learns how many there are.
func (g *Gate) heartbeat(ctx context.Context) error {
	n, err := callRedis(ctx, g, g.o.Timeout, func(ctx context.Context) (int64, error) {
		return heartbeatScript.Run(ctx, g.rdb, []string{replicasKey(g.o.Prefix)}, g.o.Replica, replicaTTL.Microseconds()).Int64()
	}, nil)
	if err != nil {
		return fmt.Errorf("say that this replica is there: %w", err)
	}
	g.replicas.Store(max(n, 1))
	return nil
}

// pingAfter is how long the channel may be silent before it is tried.
const pingAfter = 5 * time.Second

// listen adopts the circuits that others publish. go-redis subscribes again after
// an error; whatever was missed meanwhile is read.
func (g *Gate) listen(ctx context.Context, changes *redis.PubSub, poll chan<- struct{}) {
	defer context.AfterFunc(ctx, func() { g.unsubscribe(changes) })()
	for ctx.Err() == nil {
		message, err := changes.ReceiveTimeout(ctx, pingAfter)
		if isTimeout(err) {
			err = changes.Ping(ctx)
		}
		if err != nil {
			// Nothing is lost but time: the circuits are polled.
			if clock.Sleep(ctx, g.o.Poll) != nil {
				break
			}
			continue
		}
		switch m := message.(type) {
		case *redis.Subscription:
			select {
			case poll <- struct{}{}:
			default: // a poll is due already
			}
		case *redis.Message:
			g.receive(ctx, m.Payload)
		}
	}
	g.unsubscribe(changes)
}

func (g *Gate) unsubscribe(changes *redis.PubSub) {
	if err := changes.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		g.o.Logger.Debug().Err(err).Msg("close the subscription")
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// receive adopts one published circuit.
func (g *Gate) receive(ctx context.Context, text string) {
	name, s, err := parseEvent(text)
	if err != nil {
		g.o.Logger.Warn().Err(err).Str("event", "circuit").Msg("a message that cannot be read")
		return
	}
	p, ok := (*g.providers.Load())[name]
	if !ok {
		return // nobody here calls this provider
	}
	g.adopt(p, s)
	if g.away.Load() {
		return
	}
	if err := g.restoreSlots(ctx, p); err != nil && ctx.Err() == nil {
		g.redisLost(err)
	}
}
