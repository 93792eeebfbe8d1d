package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/ledger"
	"backstop/ops"
)

// maxOffenders is how many unaccounted leads are listed; all are counted.
const maxOffenders = 20

func auditCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "audit",
		Short: "Prove that every accepted lead has an outcome or a task; exit 1 if not",
		Long: `audit counts the accepted leads, the settled ones by status, the open ones, and those
that are unaccounted for: open, but without a task that would lead to an outcome. That
number must be 0; a running worker gives such leads a task within seconds. Leads
accepted in the last ten seconds may still be on their way to the queue and are not
checked.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return app.With(c, (*app.App).OpenLedger, func(ctx context.Context, a *app.App) error {
				all, err := a.Ledger.Counts(ctx)
				if err != nil {
					return err
				}
				if all.Live > 0 { // only open leads have tasks to look for
					if err := a.OpenRedis(ctx); err != nil {
						return err
					}
				}
				var offenders []ledger.Record
				counts, err := ops.Audit(ctx, a.Ledger, a.Queue, time.Now(), func(r ledger.Record) {
					if len(offenders) < maxOffenders {
						offenders = append(offenders, r)
					}
				})
				if err == nil {
					err = show(c.OutOrStdout(), asJSON, counts, func() string { return auditText(counts, offenders) })
				}
				if err == nil && counts.Unaccounted > 0 {
					return app.ErrQuiet
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func auditText(c ops.AuditCounts, offenders []ledger.Record) string {
	t := countsTable(c)
	t.AppendRow(table.Row{"unaccounted", c.Unaccounted})
	if c.Unaccounted == 0 {
		return t.Render() + "\nEvery accepted lead has its outcome or a task that brings it there."
	}
	text := t.Render() + "\n"
	for _, r := range offenders {
		text += fmt.Sprintf("unaccounted: %s (request %s, accepted %s)\n", r.LeadID, r.RequestID, r.AcceptedAt)
	}
	return text + "A running worker puts these back on the queue within seconds; is one running?"
}

// countsTable has the leads by outcome.
func countsTable(c ops.AuditCounts) table.Writer {
	t := app.Table("leads", "")
	t.AppendRows([]table.Row{
		{"accepted", c.Accepted}, {"  enriched", c.Settled.Enriched}, {"  partial", c.Settled.Partial},
		{"  suppressed", c.Settled.Suppressed}, {"open", c.Open},
	})
	return t
}
