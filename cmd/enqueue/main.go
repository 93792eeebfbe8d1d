// Command enqueue accepts leads and exports their outcomes.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"backstop/app"
)

func main() { os.Exit(app.Main(rootCommand())) }

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "enqueue",
		Short: "Accept leads and export their outcomes",
		Long: `enqueue accepts leads from files and exports their outcomes. Every accepted lead gets
exactly one outcome, even if a worker, Redis or the database fails in between.

Exit codes: 0 done, 1 something is wrong or cannot be reached, 2 bad use or
configuration.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	app.ConfigFlag(root)
	root.AddCommand(fileCommand(), outcomesCommand(), traceCommand(), replayCommand(), forgetCommand(), directoryCommand())
	return root
}

// show writes v as one JSON object or, for people, the text.
func show(w io.Writer, asJSON bool, v any, format string, args ...any) error {
	if asJSON {
		return json.NewEncoder(w).Encode(v)
	}
	_, err := fmt.Fprintf(w, format, args...)
	return err
}
