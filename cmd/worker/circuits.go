package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/breakerstore"
	"backstop/resilience"
)

func circuitsCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "circuits",
		Short: "Show each provider's circuit, pause and allowance; open or close one by hand",
		Long: `circuits shows what all replicas obey: whether a provider's circuit allows calls,
until when it is paused (it asked for that) or suspended (its quota is used up, or it
refused the key), and how many calls a second it is allowed now.`,
		Example: `  worker circuits
  worker circuits open clearbit     # no replica calls it until it is closed by hand
  worker circuits close clearbit    # closes it, ends pause and suspension, restores the rate`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withGate(c, func(ctx context.Context, _ *app.App, g *breakerstore.Gate) error {
				circuits, err := g.Circuits(ctx)
				if err != nil {
					return err
				}
				return show(c.OutOrStdout(), asJSON, circuits, func() string { return circuitsText(circuits, time.Now()) })
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	c.AddCommand(
		switchCommand("open", "Open a provider's circuit until it is closed by hand", (*breakerstore.Gate).Open),
		switchCommand("close", "Close a provider's circuit, end its pause and suspension, restore its rate", (*breakerstore.Gate).Close),
	)
	return c
}

func switchCommand(verb, short string, do func(*breakerstore.Gate, context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " PROVIDER",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withGate(c, func(ctx context.Context, a *app.App, g *breakerstore.Gate) error {
				name := args[0]
				known := append(slices.Clone(a.Config.Fallback), a.Config.Chain...)
				if _, configured := a.Config.Providers[name]; !configured && !slices.Contains(known, name) {
					return app.Usagef("there is no provider %q: use one of %s", name, strings.Join(known, ", "))
				}
				if err := do(g, ctx, name); err != nil {
					return err
				}
				_, err := fmt.Fprintf(c.OutOrStdout(), "%s: done; every replica knows within a moment\n", name)
				return err
			})
		},
	}
}

// withGate opens the fleet's gate without being a replica of it.
func withGate(c *cobra.Command, do func(context.Context, *app.App, *breakerstore.Gate) error) error {
	return app.With(c, (*app.App).OpenRedis, func(ctx context.Context, a *app.App) (err error) {
		g, err := a.Gate("", zerolog.Nop(), nil)
		if err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			err = errors.Join(err, g.Shutdown(ctx))
		}()
		return do(ctx, a, g)
	})
}

func circuitsText(circuits []resilience.Circuit, now time.Time) string {
	t := app.Table("provider", "circuit", "failures", "trips", "held back", "allowed now", "limit")
	for _, c := range circuits {
		t.AppendRow(table.Row{c.Provider, c.State, c.Failures, c.Trips, heldBack(c, now), perSecond(c.Rate), perSecond(c.Limit)})
	}
	return t.Render()
}

// heldBack says in words why calls are not allowed, and until when.
func heldBack(c resilience.Circuit, now time.Time) string {
	var why []string
	until := func(what string, t time.Time) {
		if t.After(now) {
			why = append(why, fmt.Sprintf("%s %s", what, t.Sub(now).Round(time.Second)))
		}
	}
	switch {
	case c.Manual:
		why = append(why, "opened by hand")
	case c.State == "open":
		until("open, a probe goes in", c.RetryAt)
	}
	until("paused for", c.PausedUntil)
	switch {
	case !c.SuspendedUntil.After(now):
	case c.SuspendedUntil.Equal(resilience.Indefinitely):
		why = append(why, fmt.Sprintf("suspended: %s, until the key changes or it is closed by hand", c.SuspendedFor))
	default:
		until("suspended: "+c.SuspendedFor+", for", c.SuspendedUntil)
	}
	return strings.Join(why, "; ")
}

func perSecond(rate float64) string {
	if rate == 0 {
		return "unlimited"
	}
	return fmt.Sprintf("%.3g/s", rate)
}
