// Command enqueue takes leads in and gives their outcomes out.
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
		Short: "Hand leads to the workers and get their outcomes",
		Long: `enqueue accepts leads from files, and gives out what became of them. A lead that it
calls accepted comes to one outcome, whatever dies in between.

Exit codes: 0 done, 1 it found something wrong, 2 bad use or configuration.`,
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
