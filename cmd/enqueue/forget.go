package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/lead"
	"backstop/ops"
)

func forgetCommand() *cobra.Command {
	var asJSON, dryRun bool
	c := &cobra.Command{
		Use:   "forget EMAIL",
		Short: "Erase a person everywhere, and turn them away from now on",
		Long: `forget erases the person with an email address, in every spelling of it: their leads
with outcomes and trails, their entry in the directory, their tasks in every state
(pending, scheduled, retry, archived, completed), and the cached answers of providers.
It prints what it erased.

A keyed hash of the address remains, by which the person is turned away when they come
again, from any source. forget cannot erase exported files, rejected rows written
beside an input file, and backups.

With - the address is read from standard input, which keeps it out of the shell's
history and the list of processes. The exit code is 1 if a worker was still at one of
the person's tasks at the end; that task can no longer write anything.`,
		Example: `  enqueue forget ada@example.com
  enqueue forget - --json < address.txt`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			email, err := addressOf(args[0], c.InOrStdin())
			if err != nil {
				return app.Usage(err)
			}
			open := (*app.App).Open
			if dryRun {
				open = (*app.App).OpenLedger
			}
			return app.With(c, open, func(ctx context.Context, a *app.App) error {
				if dryRun {
					n, err := ops.Eraser{Ledger: a.Ledger}.Preview(ctx, email)
					if err != nil {
						return err
					}
					return show(c.OutOrStdout(), asJSON, map[string]int{"leads": n}, "would erase %d leads of this person, with all that belongs to them\n", n)
				}
				e, err := a.Eraser()
				if err != nil {
					return err
				}
				sum, err := e.Forget(ctx, email)
				if err != nil {
					err = fmt.Errorf("%w; what is shown was erased; run it again, it goes on where it stopped", err)
				}
				return errors.Join(showErased(c.OutOrStdout(), sum, asJSON), err)
			})
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say how many leads there are of this person, and change nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object: leads, outcomes, trail_entries, directory, tasks, answers, under_way, remembered")
	return c
}

// addressOf is the address given, or the first line of in for "-", in its normal
// spelling. Errors do not quote it.
func addressOf(arg string, in io.Reader) (string, error) {
	if arg == "-" {
		line, err := bufio.NewReader(io.LimitReader(in, 1<<16)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the address: %w", err)
		}
		arg = strings.TrimSpace(line)
	}
	email, err := lead.NormalizeEmail(arg)
	if err != nil || email == "" {
		return "", errors.New("this is not an email address: give one such as ada@example.com")
	}
	return email, nil
}

func showErased(w io.Writer, sum ops.Erased, asJSON bool) error {
	t := app.Table("erased", "")
	t.AppendRows([]table.Row{
		{"leads", sum.Leads}, {"outcomes", sum.Outcomes}, {"trail entries", sum.TrailEntries},
		{"directory entries", sum.Directory}, {"tasks on the queues", sum.Tasks}, {"cached answers", sum.Answers},
	})
	end := "remembered by a keyed hash: the person is turned away from now on"
	if !sum.Remembered {
		end = "not remembered yet"
	}
	if err := show(w, asJSON, sum, "%s\n%s\n", t.Render(), end); err != nil {
		return err
	}
	if sum.UnderWay > 0 {
		return fmt.Errorf("a worker is still at %d of the person's tasks; they can write nothing any more and end by themselves", sum.UnderWay)
	}
	return nil
}
