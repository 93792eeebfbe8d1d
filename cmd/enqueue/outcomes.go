package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/lead"
	"backstop/ledger"
)

func outcomesCommand() *cobra.Command {
	var format string
	var f filterFlags
	c := &cobra.Command{
		Use:   "outcomes",
		Short: "Export the settled leads as CSV, JSON lines or a table",
		Long: `outcomes writes one row for each settled lead, in the order in which the leads were
first settled. In CSV, values that a spreadsheet would run as a formula get an
apostrophe in front; telephone numbers are left as they are. Tables have at most 500
rows each. Outcomes that cannot be read are named on standard error, and the exit
status is 1; all others are exported.`,
		Example: `  enqueue outcomes --format csv > outcomes.csv
  enqueue outcomes --status partial --since 24h --format jsonl`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			filter, err := f.filter(time.Now())
			if err != nil {
				return app.Usage(err)
			}
			out, err := newOutcomeWriter(format, c.OutOrStdout())
			if err != nil {
				return app.Usage(err)
			}
			return app.With(c, (*app.App).OpenLedger, func(ctx context.Context, a *app.App) error {
				return writeOutcomes(c.ErrOrStderr(), a.Ledger.Outcomes(ctx, filter), out)
			})
		},
	}
	c.Flags().StringVar(&format, "format", "table", "csv, jsonl or table")
	f.add(c, nil, "only these statuses: enriched, partial, suppressed")
	return c
}

// writeOutcomes writes the outcomes that can be read, and names the others.
func writeOutcomes(stderr io.Writer, outcomes iter.Seq2[lead.Outcome, error], out outcomeWriter) error {
	damaged := 0
	for o, err := range outcomes {
		if _, ok := errors.AsType[*ledger.DamagedError](err); ok {
			damaged++
			fmt.Fprintln(stderr, err)
			continue
		}
		if err != nil {
			return errors.Join(err, out.end())
		}
		if err := out.write(o); err != nil {
			return err
		}
	}
	if err := out.end(); err != nil || damaged == 0 {
		return err
	}
	return fmt.Errorf("damaged outcomes that were not exported: %d", damaged)
}
