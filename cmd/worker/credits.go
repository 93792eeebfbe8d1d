package main

import (
	"context"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"backstop/app"
)

func creditsCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "credits",
		Short: "Show what each provider has cost today and this month, and what its caps leave",
		Long: `credits shows what the fleet has spent at each provider today and this month (UTC), by
the configured prices, and how much of each cap is left. Calls that are under way and
calls whose answer was lost count against a cap, too: the provider may have charged for
them.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			open := func(a *app.App, ctx context.Context) error {
				if a.Capped() { // only what is counted against a cap is in Redis
					return a.Open(ctx)
				}
				return a.OpenLedger(ctx)
			}
			return app.With(c, open, func(ctx context.Context, a *app.App) error {
				rows, err := spending(ctx, a, time.Now())
				if err != nil {
					return err
				}
				return show(c.OutOrStdout(), asJSON, rows, func() string { return spendingText(rows) })
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

// A spent is what a provider cost in one period.
type spent struct {
	Provider string   `json:"provider"`
	Per      string   `json:"per"`               // day or month
	Spent    float64  `json:"spent"`             // as the ledger has it
	Cap      *float64 `json:"cap,omitempty"`     // absent: none
	Counted  *float64 `json:"counted,omitempty"` // against the cap
}

// spending lists every provider that is asked, the day before the month.
func spending(ctx context.Context, a *app.App, now time.Time) ([]spent, error) {
	rows := []spent{}
	for _, name := range a.Providers() {
		day, month, err := a.Ledger.Spent(ctx, name, now)
		if err != nil {
			return nil, err
		}
		rows = append(rows, spent{Provider: name, Per: "day", Spent: day}, spent{Provider: name, Per: "month", Spent: month})
	}
	caps, err := a.Credits(a.Log, nil)
	if err != nil || caps == nil {
		return rows, err
	}
	usage, err := caps.Usage(ctx)
	if err != nil {
		return nil, err
	}
	for _, u := range usage {
		for i := range rows {
			if rows[i].Provider == u.Provider && rows[i].Per == u.Per {
				rows[i].Cap, rows[i].Counted = &u.Cap, &u.Used
			}
		}
	}
	return rows, nil
}

func spendingText(rows []spent) string {
	t := app.Table("provider", "per", "spent", "cap", "left")
	for _, r := range rows {
		limit, left := "none", ""
		if r.Cap != nil {
			limit, left = amount(*r.Cap), amount(max(*r.Cap-*r.Counted, 0))
		}
		t.AppendRow(table.Row{r.Provider, r.Per, amount(r.Spent), limit, left})
	}
	return t.Render()
}

// amount is a number of credits.
func amount(credits float64) string { return strconv.FormatFloat(credits, 'f', -1, 64) }
