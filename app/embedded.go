package app

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"

	"backstop/clock"
)

// expiryTick is how often the embedded Redis lets its keys age: it does not do so
// by itself.
const expiryTick = 100 * time.Millisecond

// StartEmbeddedRedis brings a Redis of this process's own at the address of
// redis.url, so that the other commands find it. It keeps nothing when the
// process ends, which costs no lead: the ledger owns them.
func (a *App) StartEmbeddedRedis() error {
	u, err := url.Parse(a.Config.Redis.URL)
	if err != nil || u.Scheme != "redis" || u.Host == "" {
		return Usagef("the embedded Redis needs one address in redis.url, such as redis://127.0.0.1:6379/0")
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	addr := u.Hostname() + ":" + port
	m := miniredis.NewMiniRedis()
	if err := m.StartAddr(addr); err != nil {
		return Usagef("start the embedded Redis: %w; if a Redis runs there already, leave --embedded out, else set BACKSTOP_REDIS__URL to a free port", err)
	}
	// The address that it got, where port 0 asked for any.
	a.Config.Redis.URL = fmt.Sprintf("redis://%s/0", m.Addr())
	ctx, stop := context.WithCancel(context.Background())
	var aging sync.WaitGroup
	last := time.Now()
	aging.Go(func() {
		clock.Every(ctx, expiryTick, func() {
			now := time.Now()
			m.FastForward(now.Sub(last))
			last = now
		})
	})
	a.onClose(func() error {
		stop()
		aging.Wait()
		m.Close()
		return nil
	})
	return nil
}
