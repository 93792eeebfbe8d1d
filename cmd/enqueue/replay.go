package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/lead"
	"backstop/ledger"
	"backstop/ops"
)

func replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay",
		Short: "Enrich leads again whose outcome is partial",
		Long: `replay puts settled leads on the queue again, most often those that an outage left
partial. A better outcome replaces the present one, a worse one does not. Leads of
people who opted out are never replayed; enriched leads only if --status names them.

An interrupt stops it between two batches; leads that it has begun go on, and running it
again takes the rest. Providers are asked again: --dry-run says for how many leads.`,
		Example: `  enqueue replay --since 6h --dry-run
  enqueue replay --since 6h --rate 5
  enqueue replay --status partial,enriched --source crm --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	f.add(c, []string{string(lead.StatusPartial)}, "replay outcomes of these statuses: partial, enriched")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be replayed, and change nothing")
	c.Flags().Float64Var(&f.rate, "rate", 0, "`LEADS` a second at most (default as fast as they can be queued)")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object: matched, replayed, skipped")
	return c
}

type replayFlags struct {
	filterFlags
	dryRun, json bool
	rate         float64
}

// slowestRate keeps the time between two leads to a number of minutes.
const slowestRate = 0.001

// picked is the filter, if it picks what can be replayed.
func (f *replayFlags) picked(now time.Time) (ledger.Filter, error) {
	filter, err := f.filter(now)
	switch {
	case err != nil:
	case slices.Contains(filter.Statuses, lead.StatusSuppressed):
		err = ops.ErrNoReplay
	case len(filter.Statuses) == 0:
		err = errors.New("--status is empty: use partial or enriched")
	case f.rate != 0 && !(f.rate >= slowestRate): // NaN too
		err = fmt.Errorf("--rate %v: use a number of leads a second, such as 5 or 0.5", f.rate)
	}
	return filter, err
}

func (f *replayFlags) run(c *cobra.Command) error {
	filter, err := f.picked(time.Now())
	if err != nil {
		return app.Usage(err)
	}
	open := (*app.App).Open
	if f.dryRun {
		open = (*app.App).OpenLedger
	}
	return app.With(c, open, func(ctx context.Context, a *app.App) error {
		if f.dryRun {
			return f.preview(c, ops.Replayer{Ledger: a.Ledger}, filter)
		}
		r := ops.Replayer{Ledger: a.Ledger, Enqueuer: a.Enqueuer(), Rate: f.rate}
		sum, err := r.Run(ctx, filter)
		if ctx.Err() != nil {
			err = errors.New("interrupted; running it again takes the rest")
		}
		return errors.Join(err, show(c.OutOrStdout(), f.json, sum, "matched %d: replayed %d, skipped %d\n", sum.Matched, sum.Replayed, sum.Skipped))
	})
}

// previewed is how many lead IDs a dry run lists.
const previewed = 20

func (f *replayFlags) preview(c *cobra.Command, r ops.Replayer, filter ledger.Filter) error {
	var some []string
	sum, err := r.Preview(c.Context(), filter, func(leadID string) {
		if len(some) < previewed {
			some = append(some, leadID)
		}
	})
	if err != nil {
		return err
	}
	would := sum.Matched - sum.Skipped
	if err := show(c.OutOrStdout(), f.json, sum, "matched %d: would replay %d, skip %d\n", sum.Matched, would, sum.Skipped); err != nil || f.json {
		return err
	}
	for _, id := range some {
		if _, err := fmt.Fprintln(c.OutOrStdout(), id); err != nil {
			return err
		}
	}
	if more := would - len(some); more > 0 {
		_, err = fmt.Fprintf(c.OutOrStdout(), "and %d more\n", more)
	}
	return err
}
