package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/clock"
	"backstop/config"
	"backstop/intake"
	"backstop/lead"
	"backstop/monitor"
	"backstop/ops"
	"backstop/providers/sandbox"
)

func demoCommand() *cobra.Command {
	var o demoOptions
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show the whole thing in one process: three replicas, two APIs that fail on script",
		Long: `demo runs everything in this process and needs no other server: an embedded Redis, a
SQLite ledger in a temporary folder, three replicas, and imitations of Clearbit and
Hunter that answer calmly at first, then with a storm of rate-limit errors, then not at
all (Clearbit), and recover. It prints the report and exits with 1 if a lead is
unaccounted for.

It reads no configuration and calls no real API.`,
		Example: `  worker demo
  worker demo --leads 1000 --json
  worker demo --input leads.csv --keep`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runDemo(c, o) },
	}
	c.Flags().IntVar(&o.leads, "leads", 330, "how many sample leads")
	c.Flags().StringVar(&o.input, "input", "", "take the leads from this CSV or JSON-lines `FILE` instead")
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object: the audit's, with measures and providers")
	c.Flags().BoolVar(&o.keep, "keep", false, "stay afterwards, with asynqmon, until interrupted")
	return c
}

type demoOptions struct {
	leads      int
	input      string
	json, keep bool
}

// A demo is the parts of one run.
type demo struct {
	demoOptions
	app      *app.App
	sandbox  *sandbox.Server
	replicas []*app.Replica
	leads    []lead.Lead
	metrics  *monitor.Metrics
	began    time.Time
}

func runDemo(c *cobra.Command, o demoOptions) (err error) {
	if o.leads < 1 {
		return app.Usagef("--leads %d: use 1 or more", o.leads)
	}
	ctx := c.Context()
	d := &demo{demoOptions: o, metrics: monitor.NewMetrics()}
	if d.leads, err = d.read(ctx); err != nil {
		return app.Usage(err)
	}
	dir, err := os.MkdirTemp("", "backstop-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := d.open(ctx, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(ctx)) }()

	work, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, r := range d.replicas {
		wg.Go(func() {
			if rerr := r.Run(work); rerr != nil {
				d.app.Log.Error().Err(rerr).Str("replica", r.Name).Msg("a replica ended")
			}
		})
	}
	defer wg.Wait()
	defer stop()

	screen := newScreen(c.ErrOrStderr())
	d.introduce(screen)
	if err := d.play(ctx, screen); err != nil {
		return err
	}
	return d.finish(ctx, c, screen)
}

// read gives the leads of the demo.
func (d *demo) read(ctx context.Context) ([]lead.Lead, error) {
	if d.input == "" {
		return sandbox.SampleLeads(d.demoOptions.leads, demoSeed), nil
	}
	f, err := os.Open(d.input)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := intake.Read(f, d.input, intake.Options{})
	if err != nil {
		return nil, err
	}
	var leads []lead.Lead
	for row, err := range r.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		if row.Reject == nil && row.Skip == "" {
			leads = append(leads, row.Lead)
		}
	}
	if len(leads) == 0 {
		return nil, fmt.Errorf("%s: no row of it can be used; enqueue file says why", d.input)
	}
	return leads, nil
}

// open starts the sandbox, Redis, the ledger and three replicas.
func (d *demo) open(ctx context.Context, dir string) (err error) {
	rate := demoRate(len(d.leads))
	if d.sandbox, err = sandbox.Start(context.WithoutCancel(ctx), demoScript(rate), sandbox.Options{}); err != nil {
		return err
	}
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("demo"), 0o600); err != nil {
		return fmt.Errorf("write the demo's key: %w", err)
	}
	cfg, _, err := config.Load(app.Source(os.DevNull, demoEnvironment(d.sandbox, dir, key, rate)))
	if err != nil {
		return err
	}
	if d.app, err = app.FromConfig(cfg, os.Stderr); err != nil {
		return err
	}
	if err := d.app.OpenEmbedded(ctx); err != nil {
		return err
	}
	if err := d.fillDirectory(ctx); err != nil {
		return err
	}
	for i := range demoReplicas {
		r, err := d.app.NewReplica(fmt.Sprintf("replica-%d", i+1), d.metrics)
		if err != nil {
			return err
		}
		d.replicas = append(d.replicas, r)
	}
	return nil
}

func (d *demo) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var errs []error
	if d.app != nil {
		errs = append(errs, d.app.Close())
	}
	return errors.Join(append(errs, d.sandbox.Close(ctx))...)
}

// play hands the leads on over the whole script and waits until none is open.
func (d *demo) play(ctx context.Context, screen *screen) error {
	d.began = time.Now()
	d.sandbox.Reset()
	enqueuer := d.app.Enqueuer()
	for sent := 0; ; {
		elapsed := time.Since(d.began)
		due := min(len(d.leads), 1+int(float64(len(d.leads))*float64(elapsed)/float64(demoFeed)))
		if due > sent {
			if _, err := enqueuer.Put(ctx, d.leads[sent:due]); err != nil {
				return err
			}
			sent = due
		}
		counts, err := d.app.Ledger.Counts(ctx)
		if err != nil {
			return err
		}
		if err := d.show(ctx, screen, elapsed, ops.CountsOf(counts)); err != nil {
			return err
		}
		if sent == len(d.leads) && counts.Live == 0 && elapsed >= demoEnd {
			screen.end()
			return nil
		}
		if err := clock.Sleep(ctx, 200*time.Millisecond); err != nil {
			screen.end()
			return fmt.Errorf("the demo was interrupted: %w", err)
		}
	}
}
