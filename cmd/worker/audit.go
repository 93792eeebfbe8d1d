package main

import (
	"encoding/json"
	"fmt"
	"io"
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
		Long: `audit counts the accepted leads, the settled ones by status, the open ones, and
those that are unaccounted for: open, and without a task that would bring them to
their outcome. That number must be 0; a worker's reconciler brings it there within
seconds. Leads accepted in the last ten seconds may still be on their way to the
queue and are not looked at.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return app.With(c, func(a *app.App) error {
				ctx := c.Context()
				if err := a.OpenLedger(ctx); err != nil {
					return err
				}
				counts, err := a.Ledger.Counts(ctx)
				if err != nil {
					return err
				}
				if counts.Live > 0 { // only open leads have tasks to look for
					if err := a.OpenRedis(ctx); err != nil {
						return err
					}
				}
				var offenders []ledger.Record
				books, err := ops.Audit(ctx, a.Ledger, a.Queue, time.Now(), func(r ledger.Record) {
					if len(offenders) < maxOffenders {
						offenders = append(offenders, r)
					}
				})
				if err != nil {
					return err
				}
				if asJSON {
					err = writeJSON(c.OutOrStdout(), books)
				} else {
					err = writeBooks(c.OutOrStdout(), books, offenders)
				}
				if err == nil && books.Unaccounted > 0 {
					return app.ErrQuiet
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func writeBooks(w io.Writer, b ops.AuditCounts, offenders []ledger.Record) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendRows([]table.Row{
		{"accepted", b.Accepted}, {"  enriched", b.Settled.Enriched}, {"  partial", b.Settled.Partial},
		{"  suppressed", b.Settled.Suppressed}, {"  rejected", b.Settled.Rejected}, {"open", b.Open}, {"unaccounted", b.Unaccounted},
	})
	if _, err := fmt.Fprintln(w, t.Render()); err != nil {
		return err
	}
	if b.Unaccounted == 0 {
		_, err := fmt.Fprintln(w, "Every accepted lead has its outcome or a task that brings it there.")
		return err
	}
	for _, r := range offenders {
		if _, err := fmt.Fprintf(w, "unaccounted: %s (request %s, accepted %s)\n", r.LeadID, r.RequestID, r.AcceptedAt); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "A running worker puts these back on the queue within seconds; is one running?")
	return err
}
