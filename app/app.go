package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"backstop/accept"
	"backstop/config"
	"backstop/ledger"
	"backstop/queue"
)

// An App is one process's parts. Close it.
type App struct {
	Config config.Config
	Log    zerolog.Logger
	Redis  redis.UniversalClient // nil unless opened
	Ledger *ledger.Ledger        // nil unless opened
	Queue  *queue.Queue          // nil unless Redis was opened

	client  *http.Client // once it was made
	closers []func() error
}

// ConfigFlag adds --config to a command and all below it.
func ConfigFlag(c *cobra.Command) {
	c.PersistentFlags().String("config", "", "configuration `FILE`, YAML or JSON (default backstop.yaml, if it is there)")
}

// New reads the configuration of a command that has the flag of [ConfigFlag].
func New(c *cobra.Command) (*App, error) {
	file, err := c.Flags().GetString("config")
	if err != nil {
		return nil, fmt.Errorf("read --config: %w", err)
	}
	cfg, warnings, err := config.Load(Source(file, os.Environ()))
	if err != nil {
		return nil, Usage(err)
	}
	a, err := FromConfig(cfg, c.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		a.Log.Warn().Str("event", "config").Msg(w.Error())
	}
	return a, nil
}

// With reads the configuration, opens what the command needs, such as
// (*App).OpenLedger, and closes it after do.
func With(c *cobra.Command, open func(*App, context.Context) error, do func(context.Context, *App) error) (err error) {
	a, err := New(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := open(a, c.Context()); err != nil {
		return err
	}
	return do(c.Context(), a)
}

// FromConfig makes an App of a configuration that has been checked.
func FromConfig(cfg config.Config, stderr io.Writer) (*App, error) {
	log, err := newLog(cfg.Log, stderr)
	if err != nil {
		return nil, err
	}
	return &App{Config: cfg, Log: log}, nil
}

// OpenLedger opens the ledger and brings its schema up to date.
func (a *App) OpenLedger(ctx context.Context) error {
	url, err := a.Config.LedgerURL()
	if err != nil {
		return Usage(err)
	}
	l, err := ledger.Open(ctx, url, ledger.Options{})
	if err != nil {
		// A driver's error may be of several lines.
		said := fmt.Errorf("%s; check ledger.url or BACKSTOP_LEDGER__URL", strings.Join(strings.Fields(err.Error()), " "))
		if errors.Is(err, ledger.ErrURL) {
			return Usage(said)
		}
		return said
	}
	a.Ledger = l
	a.onClose(l.Close)
	return nil
}

// ConnectRedis makes the client of Redis and the queue without asking whether Redis
// is there.
func (a *App) ConnectRedis() error {
	url, err := a.Config.RedisURL()
	if err != nil {
		return Usage(err)
	}
	rdb, err := NewRedis(url)
	if err != nil {
		return Usage(err)
	}
	a.onClose(rdb.Close)
	a.Redis, a.Queue = rdb, queue.New(rdb, a.Config.Redis.Prefix)
	return nil
}

// OpenRedis connects to Redis and checks that it can be relied on.
func (a *App) OpenRedis(ctx context.Context) error {
	if err := a.ConnectRedis(); err != nil {
		return err
	}
	return checkRedis(ctx, a.Redis, a.Log)
}

// Open opens the ledger, then Redis.
func (a *App) Open(ctx context.Context) error {
	if err := a.OpenLedger(ctx); err != nil {
		return err
	}
	return a.OpenRedis(ctx)
}

// OpenEmbedded opens the ledger and a Redis of this process's own.
func (a *App) OpenEmbedded(ctx context.Context) error {
	if err := a.StartEmbeddedRedis(); err != nil {
		return err
	}
	return a.Open(ctx)
}

// Enqueuer accepts leads and begins further runs; the ledger and Redis must be open.
func (a *App) Enqueuer() *accept.Enqueuer {
	return accept.New(a.Ledger, a.Queue, a.Log)
}

func (a *App) onClose(f func() error) { a.closers = append(a.closers, f) }

// Close closes what was opened, last first.
func (a *App) Close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i]())
	}
	a.closers = nil
	return errors.Join(errs...)
}
