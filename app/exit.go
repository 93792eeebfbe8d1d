package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"
)

// The exit codes of all commands.
const (
	ExitOK    = 0 // done
	ExitWrong = 1 // it found something wrong
	ExitUsage = 2 // bad use or configuration
)

// A usageError ends the process with ExitUsage.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage marks an error as bad use or configuration.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// Usagef makes an error of bad use or configuration.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// ErrQuiet ends the process with ExitWrong; what is wrong has been printed.
var ErrQuiet = errors.New("found something wrong")

// Main runs a command as a process of its own and returns the exit code. An interrupt
// or SIGTERM cancels the command's context; a second one ends the process at once.
func Main(root *cobra.Command) int {
	// net/http writes what a server sends beyond its answer to the standard logger,
	// and that can be somebody's data. Nothing here uses it otherwise.
	log.SetOutput(io.Discard)
	// What go-redis logs is also in the errors that it returns.
	logging.Disable()
	ctx, stop := signalContext(context.Background(), os.Stderr)
	defer stop()
	return Run(ctx, root)
}

// Run runs a command until it ends or ctx does, says on its standard error what went
// wrong, and returns the exit code.
func Run(ctx context.Context, root *cobra.Command) int {
	prepare(root)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrQuiet):
		return ExitWrong
	}
	fmt.Fprintf(root.ErrOrStderr(), "%s: %s\n", root.Name(), strings.ReplaceAll(err.Error(), "\n", "\n  "))
	if errors.As(err, &usage) {
		return ExitUsage
	}
	return ExitWrong
}

// prepare makes cobra leave printing and exit codes to Main, in every subcommand.
func prepare(c *cobra.Command) {
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return Usagef("%w; see %s --help", err, c.CommandPath())
	})
	if args := c.Args; args != nil {
		c.Args = func(c *cobra.Command, a []string) error {
			if err := args(c, a); err != nil {
				return Usagef("%w; see %s --help", err, c.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		prepare(sub)
	}
}

// signalContext is cancelled by the first SIGINT or SIGTERM. The second ends the
// process at once; the leads under way are put back when their leases expire. Its
// goroutine lives as long as the process.
func signalContext(parent context.Context, w io.Writer) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		fmt.Fprintln(w, "stopped at once; the leads under way are put back when their leases expire")
		os.Exit(ExitWrong)
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}
