package testkit

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	parrot = "backstop/testkit/testdata/parrot"
	soon   = 10 * time.Second // longer than anything here should take on a busy machine
)

func TestAProcessIsSeenAsItIs(t *testing.T) {
	t.Parallel()
	p := Start(t, Command{Package: parrot, Args: []string{"3"}, Stdin: "one\ntwo\n"})

	if got, want := p.WaitLine(regexp.MustCompile(`^parrot (\d+)$`), soon)[1], fmt.Sprint(p.PID()); got != want {
		t.Errorf("the process says its ID is %s, PID says %s", got, want)
	}
	if status := p.Wait(soon); status != 3 {
		t.Errorf("exit status %d, want 3", status)
	}
	if got, want := p.Stderr(), "heard one\nheard two\n"; got != want {
		t.Errorf("standard error is %q, want %q", got, want)
	}
	if !strings.HasSuffix(p.Stdout(), "last words without a line end") {
		t.Errorf("standard output ends otherwise: %q", p.Stdout())
	}
}

func TestWaitLineSeesALineThat(t *testing.T) {
	t.Parallel()
	for name, re := range map[string]string{
		"was written to standard output":       `^parrot \d+$`,
		"was written to standard error":        `^heard sea$`,
		"came last and has no line end":        `^last words .* end$`,
		"was asked for after the process died": `^has HOME=`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Start(t, Command{Package: parrot, Args: []string{"0"}, Stdin: "sea\n"})
			if strings.Contains(name, "died") {
				p.Wait(soon)
			}
			p.WaitLine(regexp.MustCompile(re), soon)
		})
	}
}

func TestWaitLinesReturnsMatchesInOrder(t *testing.T) {
	t.Parallel()
	p := Start(t, Command{Package: parrot, Args: []string{"0"}, Stdin: "a\nb\nc\n"})
	got := p.WaitLines(regexp.MustCompile(`^heard (.)$`), 2, soon)
	if got[0][1] != "a" || got[1][1] != "b" {
		t.Errorf("matches are %v, want a and b", got)
	}
}

func TestAProcessGetsOnlyTheEnvironmentItWasGiven(t *testing.T) {
	t.Setenv("BACKSTOP_REDIS__URL", "redis://from-the-developer")
	p := Start(t, Command{Package: parrot, Args: []string{"0"}, Env: []string{"GIVEN=yes"}})
	p.Wait(soon)
	if strings.Contains(p.Stdout(), "BACKSTOP_") {
		t.Error("the process has inherited a variable that configures Backstop")
	}
	if !strings.Contains(p.Stdout(), "has GIVEN=yes\n") {
		t.Error("the process lacks the variable that it was given")
	}
}

func TestSignalsReachTheProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		end    func(p *Process)
		status int
	}{
		{"SIGTERM, which it handles", func(p *Process) { p.Signal(syscall.SIGTERM) }, 7},
		{"kill -9", func(p *Process) { p.Kill() }, -1},
		{"kill -9 while it is stopped", func(p *Process) { p.Signal(syscall.SIGSTOP); p.Kill() }, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := Start(t, Command{Package: parrot})
			p.WaitLine(regexp.MustCompile(`^parrot`), soon)
			c.end(p)
			if status := p.Wait(soon); status != c.status {
				t.Errorf("exit status %d, want %d", status, c.status)
			}
			p.Signal(syscall.SIGTERM) // to one that has ended: no error
		})
	}
}

func TestAProcessEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var p *Process
	t.Run("a test", func(t *testing.T) {
		p = Start(t, Command{Package: parrot})
	})
	if err := syscall.Kill(p.PID(), 0); err != syscall.ESRCH {
		t.Errorf("signal 0 to the process: %v, want no such process", err)
	}
}

func TestATestFailsWhenAProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		test func(tb testing.TB)
		says string
	}{
		{"does not compile", func(tb testing.TB) {
			Start(tb, Command{Package: "backstop/testkit/testdata/nothing"})
		}, "go build backstop/testkit/testdata/nothing"},
		{"ends before it writes the line", func(tb testing.TB) {
			Start(tb, Command{Package: parrot, Args: []string{"5"}}).WaitLine(regexp.MustCompile("^never$"), soon)
		}, `ended with exit status 5 after 0 of 1 lines that match "^never$"`},
		{"does not write the line in time", func(tb testing.TB) {
			Start(tb, Command{Package: parrot}).WaitLine(regexp.MustCompile("^never$"), time.Millisecond)
		}, "0 of 1 lines"},
		{"runs too long", func(tb testing.TB) {
			Start(tb, Command{Package: parrot}).Wait(time.Millisecond)
		}, "still runs after 1ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if said := failure(t, c.test); !strings.Contains(said, c.says) {
				t.Errorf("it says %q, want %q in it", said, c.says)
			}
		})
	}
}
