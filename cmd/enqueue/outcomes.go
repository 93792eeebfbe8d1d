package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"backstop/app"
)

func outcomesCommand() *cobra.Command {
	var format string
	var f filterFlags
	c := &cobra.Command{
		Use:   "outcomes",
		Short: "Export the settled leads as CSV, JSON lines or a table",
		Long: `outcomes writes one row for each settled lead, the oldest outcome first. In CSV,
values that a spreadsheet would run as a formula get an apostrophe in front;
telephone numbers are left as they are. Tables have at most 500 rows each.`,
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
				for o, err := range a.Ledger.Outcomes(ctx, filter) {
					if err != nil {
						return errors.Join(err, out.end())
					}
					if err := out.write(o); err != nil {
						return err
					}
				}
				return out.end()
			})
		},
	}
	c.Flags().StringVar(&format, "format", "table", "csv, jsonl or table")
	f.add(c, nil, "only these statuses: enriched, partial, suppressed")
	return c
}
