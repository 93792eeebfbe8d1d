package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/lead"
	"backstop/ledger"
)

func outcomesCommand() *cobra.Command {
	var format, source string
	var statuses []string
	var since string
	c := &cobra.Command{
		Use:   "outcomes",
		Short: "Export the settled leads as CSV, JSON lines or a table",
		Long: `outcomes writes one row for each settled lead, the oldest outcome first. In CSV,
values that a spreadsheet would run as a formula get an apostrophe in front;
telephone numbers are left as they are.`,
		Example: `  enqueue outcomes --format csv > outcomes.csv
  enqueue outcomes --status partial --since 24h --format jsonl`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			filter := ledger.Filter{Source: source}
			for _, s := range statuses {
				status, err := lead.ParseStatus(s)
				if err != nil {
					return app.Usage(err)
				}
				filter.Statuses = append(filter.Statuses, status)
			}
			if filter.Since, err = parseSince(since, time.Now()); err != nil {
				return app.Usage(err)
			}
			out, err := newOutcomeWriter(format, c.OutOrStdout())
			if err != nil {
				return app.Usage(err)
			}
			return app.With(c, func(a *app.App) error {
				if err := a.OpenLedger(c.Context()); err != nil {
					return err
				}
				for o, err := range a.Ledger.Outcomes(c.Context(), filter) {
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
	c.Flags().StringSliceVar(&statuses, "status", nil, "only these statuses: enriched, partial, suppressed, rejected")
	c.Flags().StringVar(&since, "since", "", "only outcomes settled since a `TIME`: a duration such as 24h, or RFC 3339")
	c.Flags().StringVar(&source, "source", "", "only leads of this source")
	return c
}

// parseSince reads a time: so long ago, a day, or an instant.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		if d < 0 {
			d = -d
		}
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("--since is not a time: write 24h, 2026-01-31 or 2026-01-31T12:00:00Z")
}
