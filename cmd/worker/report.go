package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/ledger"
	"backstop/ops"
)

func reportCommand() *cobra.Command {
	var asJSON bool
	var since time.Duration
	c := &cobra.Command{
		Use:   "report",
		Short: "Print the four measures and the leads by outcome",
		Long: `report reads the ledger and prints

  retry success rate   of the leads that were retried, the share that came to a full
                       profile without the fallback
  circuit trips        how often each provider's circuit opened
  fallback share       of the settled leads, the share settled by the fallback
  latency p50/p99      from a worker taking a lead to its outcome, and from the
                       lead's acceptance to its outcome`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return app.With(c, (*app.App).OpenLedger, func(ctx context.Context, a *app.App) error {
				from := time.Time{}
				if since > 0 {
					from = time.Now().Add(-since)
				}
				counts, err := a.Ledger.Counts(ctx)
				if err != nil {
					return err
				}
				m, err := a.Ledger.Measures(ctx, from)
				if err != nil {
					return err
				}
				r := report{Leads: ops.CountsOf(counts), Measures: measuresOf(m)}
				return show(c.OutOrStdout(), asJSON, r, func() string { return countsTable(r.Leads).Render() + "\n" + r.Measures.text() })
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	c.Flags().DurationVar(&since, "since", 0, "measure only outcomes of this last while, such as 24h (default all)")
	return c
}

// A report is what report prints. Its counts are without the unaccounted leads, which
// audit looks for.
type report struct {
	Leads    ops.AuditCounts `json:"leads"`
	Measures measures        `json:"measures"`
}

// measures are the four measures. Latencies are in seconds.
type measures struct {
	Leads            int64            `json:"leads"`
	Retried          int64            `json:"retried"`
	RetrySuccessRate *float64         `json:"retry_success_rate"` // null when nothing was retried
	CircuitTrips     map[string]int64 `json:"circuit_trips"`
	FallbackShare    *float64         `json:"fallback_share"` // null when nothing was settled
	LatencyP50       float64          `json:"latency_p50_seconds"`
	LatencyP99       float64          `json:"latency_p99_seconds"`
	WaitP50          float64          `json:"accepted_to_settled_p50_seconds"`
	WaitP99          float64          `json:"accepted_to_settled_p99_seconds"`
}

func measuresOf(m ledger.Measures) measures {
	share := func(part, whole int64) *float64 {
		if whole == 0 {
			return nil
		}
		f := float64(part) / float64(whole)
		return &f
	}
	trips := m.Trips
	if trips == nil {
		trips = map[string]int64{}
	}
	return measures{
		Leads: m.Leads, Retried: m.Retried, RetrySuccessRate: share(m.RetriedOK, m.Retried), CircuitTrips: trips,
		FallbackShare: share(m.Fallback, m.Leads),
		LatencyP50:    m.LatencyP50.Seconds(), LatencyP99: m.LatencyP99.Seconds(),
		WaitP50: m.WaitP50.Seconds(), WaitP99: m.WaitP99.Seconds(),
	}
}

func (m measures) text() string {
	t := app.Table("measure", "value", "")
	t.AppendRow(table.Row{"retry success rate", percent(m.RetrySuccessRate), fmt.Sprintf("of %d retried leads", m.Retried)})
	if len(m.CircuitTrips) == 0 {
		t.AppendRow(table.Row{"circuit trips", 0, ""})
	}
	for _, name := range slices.Sorted(maps.Keys(m.CircuitTrips)) {
		t.AppendRow(table.Row{"circuit trips", m.CircuitTrips[name], name})
	}
	t.AppendRow(table.Row{"fallback share", percent(m.FallbackShare), fmt.Sprintf("of %d settled leads", m.Leads)})
	t.AppendRow(table.Row{"latency p50 / p99", fmt.Sprintf("%.2f s / %.2f s", m.LatencyP50, m.LatencyP99), "from taken to settled"})
	t.AppendRow(table.Row{"", fmt.Sprintf("%.2f s / %.2f s", m.WaitP50, m.WaitP99), "from accepted to settled"})
	return t.Render()
}

func percent(f *float64) string {
	if f == nil {
		return "none yet"
	}
	return fmt.Sprintf("%.1f %%", *f*100)
}
