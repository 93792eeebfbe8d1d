package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/lead"
	"backstop/ledger"
)

func traceCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "trace ID",
		Short: "Show one lead's whole trail, by lead ID, request ID or email",
		Long: `trace shows what happened to a lead so far, and its outcome if it has one. An email
address, in any spelling, may belong to leads of several sources; all are shown.
It exits with 1 when there is no such lead.`,
		Example: `  enqueue trace ld_7q3m…
  enqueue trace ada@example.com`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return app.With(c, (*app.App).OpenLedger, func(ctx context.Context, a *app.App) error {
				records, err := a.Ledger.Find(ctx, args[0])
				if errors.Is(err, ledger.ErrNotFound) {
					return errors.New("no lead has this lead ID, request ID or email")
				}
				if err != nil {
					return err
				}
				for _, r := range records {
					o, err := a.Ledger.Outcome(ctx, r.LeadID)
					if err != nil {
						return err
					}
					if err := show(c.OutOrStdout(), asJSON, o, "%s", traceText(r, o)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for each lead, in the format of outcomes; status is empty while it is open")
	return c
}

// amount is a number of credits, "" for none.
func amount(credits float64) string {
	if credits == 0 {
		return ""
	}
	return strconv.FormatFloat(credits, 'f', -1, 64)
}

func traceText(r ledger.Record, o lead.Outcome) string {
	status := string(o.Status)
	if status == "" {
		status = "open"
	}
	head := app.Table()
	head.SetColumnConfigs([]table.ColumnConfig{{Number: 2, WidthMax: 100}})
	head.AppendRows([]table.Row{
		{"lead", o.LeadID}, {"request", o.RequestID}, {"source", o.Source}, {"source ID", o.SourceID},
		{"status", status}, {"reason", o.Reason},
		{"accepted", o.AcceptedAt}, {"started", o.StartedAt}, {"settled", o.SettledAt}, {"run", r.Generation},
	})
	for _, f := range lead.Fields {
		if v := o.Profile[f]; v != "" {
			origin := o.Provenance[f]
			from := origin.Provider
			if !origin.AsOf.IsZero() {
				from += " " + origin.AsOf.Format("2006-01-02")
			}
			if origin.Confidence > 0 {
				from += fmt.Sprintf(", %.0f %% sure", 100*origin.Confidence)
			}
			head.AppendRow(table.Row{f, fmt.Sprintf("%s  (%s)", v, from)})
		}
	}
	for _, f := range o.Missing {
		head.AppendRow(table.Row{f, "missing"})
	}
	if len(o.Credits) > 0 {
		head.AppendRow(table.Row{"credits", creditsText(o.Credits)})
	}
	trail := app.Table("attempt", "at", "provider", "class", "status", "ms", "credits", "detail")
	for _, e := range o.Trail {
		httpStatus := ""
		if e.Status != 0 {
			httpStatus = fmt.Sprint(e.Status)
		}
		trail.AppendRow(table.Row{e.Attempt, e.At, e.Provider, e.Class, httpStatus, e.Millis, amount(e.Credits), e.Detail})
		for _, f := range lead.Fields {
			if v := e.Conflicts[f]; v != "" {
				trail.AppendRow(table.Row{"", "", "", "", "", "", "", fmt.Sprintf("not taken: %s %s", f, v)})
			}
		}
	}
	return head.Render() + "\n" + trail.Render() + "\n"
}
