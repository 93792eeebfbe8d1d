package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/clock"
	"backstop/monitor"
)

func runCommand() *cobra.Command {
	var embedded, drain bool
	c := &cobra.Command{
		Use:   "run",
		Short: "Serve the queues until stopped",
		Long: `run takes leads from the queue until it gets SIGINT or SIGTERM. It then takes no
new lead, waits for the calls under way (worker.grace, 20 s by default) and ends.
A second signal ends it at once. Nothing is lost either way.`,
		Example: `  worker run
  worker run --embedded        # brings its own Redis and a ledger in ./backstop-data
  worker run --drain           # ends when no accepted lead is open`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			open := (*app.App).Open
			if embedded {
				open = (*app.App).OpenEmbedded
			}
			return app.With(c, open, func(ctx context.Context, a *app.App) error { return serve(ctx, a, drain) })
		},
	}
	c.Flags().BoolVar(&embedded, "embedded", false, "bring a Redis of its own, in this process, at the address of redis.url")
	c.Flags().BoolVar(&drain, "drain", false, "end when no accepted lead is open")
	return c
}

// serve runs one replica and its admin server until ctx ends or, with drain, until
// no lead is open.
func serve(ctx context.Context, a *app.App, drain bool) (err error) {
	metrics := monitor.NewMetrics()
	name := app.ReplicaName()
	replica, err := a.NewReplica(name, metrics)
	if err != nil {
		return err
	}
	if addr := a.Config.Worker.Admin; addr != "" {
		admin, err := a.StartAdmin(addr, metrics)
		if err != nil {
			return app.Usagef("%w; set worker.admin or BACKSTOP_WORKER__ADMIN to another address, or to nothing", err)
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			err = errors.Join(err, admin.Close(ctx))
		}()
		a.Log.Info().Str("event", "admin").Str("url", admin.URL()).Str("asynqmon", admin.AsynqmonURL()).Msg("serving health, metrics and asynqmon")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	drained := make(chan error, 1)
	if drain {
		go func() { drained <- waitDrained(ctx, a); stop() }()
	} else {
		close(drained)
	}
	a.Log.Info().Str("event", "started").Str("replica", name).Int("concurrency", a.Config.Worker.Concurrency).Strs("chain", a.Config.Chain).Send()
	err = replica.Run(ctx)
	stop()
	a.Log.Info().Str("event", "stopped").Str("replica", name).Send()
	return errors.Join(err, <-drained)
}

// waitDrained returns when no lead is waiting for an outcome, or ctx ends.
func waitDrained(ctx context.Context, a *app.App) error {
	for {
		live, err := a.Ledger.AnyLive(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			a.Log.Warn().Err(err).Str("event", "ledger").Msg("the ledger could not say whether a lead is open; trying again")
		case !live:
			return nil
		}
		if clock.Sleep(ctx, 500*time.Millisecond) != nil {
			return nil
		}
	}
}

// healthCommand asks a running worker whether it is ready, for container health
// checks in images without a shell or curl.
func healthCommand() *cobra.Command {
	var addr string
	c := &cobra.Command{
		Use:   "health",
		Short: "Ask a running worker whether it is ready; exit 1 if not",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("admin") {
				a, err := app.New(c)
				if err != nil {
					return err
				}
				addr = a.Config.Worker.Admin
			}
			if addr == "" {
				return app.Usagef("the worker has no admin server: worker.admin is empty")
			}
			if _, _, err := net.SplitHostPort(addr); err != nil {
				return app.Usagef("--admin %s is not host:port, such as 127.0.0.1:9090", addr)
			}
			status, err := monitor.Ready(c.Context(), addr)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), status)
			return err
		},
	}
	c.Flags().StringVar(&addr, "admin", "", "`HOST:PORT` of the worker's admin server (default worker.admin)")
	return c
}
