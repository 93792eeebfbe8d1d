package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/providers/sandbox"
)

func sandboxCommand() *cobra.Command {
	var listen, scriptFile string
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "Imitate the providers' APIs, with faults on script",
		Long: `sandbox serves imitations of the providers' APIs, so that a set-up can be tried
without keys and without cost. A script in YAML or JSON says who is known, which
limits hold and what goes wrong when; docs/sandbox.md describes it. GET /books
returns what the sandbox counted itself, POST /reset starts again from zero.`,
		Example: `  worker sandbox --listen 127.0.0.1:8089 --script outage.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var script sandbox.Script
			if scriptFile != "" {
				text, err := os.ReadFile(scriptFile)
				if err != nil {
					return app.Usage(err)
				}
				if script, err = sandbox.ParseScript(text); err != nil {
					return app.Usagef("%s: %w", scriptFile, err)
				}
			}
			s, err := sandbox.Start(c.Context(), script, sandbox.Options{Addr: listen})
			if err != nil {
				return app.Usage(err)
			}
			for _, p := range sandbox.Providers() {
				fmt.Fprintf(c.OutOrStdout(), "BACKSTOP_PROVIDERS__%s__BASE_URL=%s\n", strings.ToUpper(p), s.URL(p))
			}
			fmt.Fprintf(c.OutOrStdout(), "listening on %s\n", s.URL(""))
			<-c.Context().Done()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), 5*time.Second)
			defer cancel()
			return errors.Join(show(c.OutOrStdout(), true, s.Books(), nil), s.Close(ctx))
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8089", "`HOST:PORT` to listen on")
	c.Flags().StringVar(&scriptFile, "script", "", "`FILE` with the script (default: everything works)")
	return c
}
