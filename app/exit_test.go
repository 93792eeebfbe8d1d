package app

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"
)

func TestTheExitCodeSaysWhatKindOfEndItWas(t *testing.T) {
	boom := errors.New("boom")
	for name, tt := range map[string]struct {
		err  error
		args []string
		code int
		says string
	}{
		"done":                              {nil, nil, 0, ""},
		"something wrong":                   {boom, nil, 1, "tool: boom\n"},
		"something wrong that was printed":  {fmt.Errorf("audit: %w", ErrQuiet), nil, 1, ""},
		"bad use":                           {Usage(boom), nil, 2, "tool: boom\n"},
		"bad use, wrapped":                  {fmt.Errorf("read: %w", Usagef("--rate %d", 0)), nil, 2, "tool: read: --rate 0\n"},
		"bad use beside another error":      {errors.Join(boom, Usage(errors.New("no file"))), nil, 2, "tool: boom\n  no file\n"},
		"nothing is no bad use":             {Usage(nil), nil, 0, ""},
		"an unknown flag":                   {nil, []string{"--fast"}, 2, "tool: unknown flag: --fast; see tool --help\n"},
		"an argument too many":              {nil, []string{"do", "it"}, 2, "tool: unknown command \"it\" for \"tool do\"; see tool do --help\n"},
		"an unknown flag of a subcommand":   {nil, []string{"do", "--fast"}, 2, "tool: unknown flag: --fast; see tool do --help\n"},
		"something wrong in the subcommand": {boom, []string{"do"}, 1, "tool: boom\n"},
	} {
		t.Run(name, func(t *testing.T) {
			do := func(*cobra.Command, []string) error { return tt.err }
			root := &cobra.Command{Use: "tool", Args: cobra.NoArgs, RunE: do}
			root.AddCommand(&cobra.Command{Use: "do", Args: cobra.NoArgs, RunE: do})
			var out, errs bytes.Buffer
			root.SetOut(&out)
			root.SetErr(&errs)
			root.SetArgs(append([]string{}, tt.args...))
			if code := Run(t.Context(), root); code != tt.code || errs.String() != tt.says || out.Len() > 0 {
				t.Errorf("exit %d, said %q, printed %q; want %d and %q", code, errs.String(), out.String(), tt.code, tt.says)
			}
		})
	}
}
