package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"backstop/accept"
	"backstop/app"
	"backstop/intake"
	"backstop/lead"
)

func fileCommand() *cobra.Command {
	var f fileFlags
	c := &cobra.Command{
		Use:   "file FILE...",
		Short: "Accept the leads of CSV or JSON-lines files (- is standard input)",
		Long: `file reads leads from CSV or JSON lines, in any of the usual encodings and with the
headers of the usual systems, and accepts them: into the ledger first, then on the
queue. If Redis cannot be reached the leads are accepted all the same, and a worker
queues them later. Running it again accepts nothing twice.

Rows that cannot be used go to FILE.rejected.csv (stdin.rejected.csv for standard
input), or where --rejects says, with line and reason. That file can be corrected and
read in. --rejects takes one input only: each file has headers of its own.

A row needs an email address or a name. Rows that their source marks as deleted or
unsubscribed are skipped.`,
		Example: `  enqueue file leads.csv
  enqueue file export.csv --map email="Kunde (Mail)" --source crm
  crm-export | enqueue file - --source crm --rejects - > rejected.csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error { return f.run(c, files) },
	}
	f.add(c, "read, accepted, duplicate, skipped, rejected")
	c.Flags().StringVar(&f.source, "source", "", "`NAME` of the source (default the file's base name)")
	return c
}

type fileFlags struct {
	inputFlags
	source string
}

func (f *fileFlags) run(c *cobra.Command, files []string) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	if f.rejects != "" && len(files) > 1 {
		return app.Usagef("--rejects takes the rejects of one input: name one file, or leave it out and each file gets its own")
	}
	o.Source = f.source
	open := func(a *app.App, ctx context.Context) error { return errors.Join(a.OpenLedger(ctx), a.ConnectRedis()) }
	return app.With(c, open, func(ctx context.Context, a *app.App) (err error) {
		sink := &queueSink{a.Enqueuer()}
		var total intake.Summary
		for _, name := range files {
			sum, ferr := f.one(ctx, c, sink, name, o)
			total = add(total, sum)
			if ferr != nil {
				err = errors.Join(err, ferr)
				if ctx.Err() != nil {
					break
				}
			}
		}
		if n := sink.Unqueued(); n > 0 {
			fmt.Fprintf(c.ErrOrStderr(), "%d accepted leads are in the ledger and wait for a worker to queue them: Redis cannot be reached\n", n)
		}
		return errors.Join(err, show(f.counts(c), f.json, total, "read %d: accepted %d, duplicate %d, skipped %d, rejected %d\n",
			total.Read, total.Accepted, total.Duplicate, total.Skipped, total.Rejected))
	})
}

// one imports one file.
func (f *fileFlags) one(ctx context.Context, c *cobra.Command, sink intake.Sink, name string, o intake.Options) (sum intake.Summary, err error) {
	in, err := f.open(c, name)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	r, err := intake.Read(in, name, o)
	if err != nil {
		return sum, app.Usage(err)
	}
	progress := newProgress(c.ErrOrStderr(), name, in.size)
	progress.columns(r.Columns(), r.Encoding())
	sum, err = intake.Importer{Sink: sink, Rejects: in.rejects.open, Progress: progress.update}.Import(ctx, r)
	progress.end()
	in.sayRejected(c, sum.Rejected)
	return sum, err
}

func add(a, b intake.Summary) intake.Summary {
	return intake.Summary{
		Read: a.Read + b.Read, Accepted: a.Accepted + b.Accepted, Duplicate: a.Duplicate + b.Duplicate,
		Skipped: a.Skipped + b.Skipped, Rejected: a.Rejected + b.Rejected,
	}
}

// A queueSink accepts leads through the ledger and the queue.
type queueSink struct{ *accept.Enqueuer }

// Put implements [intake.Sink].
func (s *queueSink) Put(ctx context.Context, leads []lead.Lead) ([]intake.Result, error) {
	accepted, err := s.Enqueuer.Put(ctx, leads)
	results := make([]intake.Result, len(accepted))
	for i, a := range accepted {
		results[i] = intake.Result{Duplicate: a.Duplicate, Suppressed: a.Suppressed}
	}
	return results, err
}
