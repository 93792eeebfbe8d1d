// Command worker enriches leads, and reports on the fleet and on what became of the
// leads.
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
	root := runCommand()
	root.Use = "worker"
	root.Short = "Enrich the leads on the queue"
	root.Long = `worker takes leads from the queue, asks the providers of the chain about them and
writes one outcome for each into the ledger. Without a subcommand it does what
"worker run" does.

Exit codes: 0 done, 1 something is wrong or cannot be reached, 2 bad use or
configuration.`
	app.ConfigFlag(root)
	root.AddCommand(
		runCommand(), demoCommand(), reportCommand(), auditCommand(), circuitsCommand(), creditsCommand(),
		configCommand(), healthCommand(), sandboxCommand(),
	)
	return root
}

// show writes v as one JSON object or, for people, the text.
func show(w io.Writer, asJSON bool, v any, text func() string) error {
	if !asJSON {
		_, err := fmt.Fprintln(w, text())
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
