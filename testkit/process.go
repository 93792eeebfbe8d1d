package testkit

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Command says how to start one of this module's commands.
type Command struct {
	Package string   // import path, such as "backstop/cmd/worker"
	Args    []string // without the program's name
	Env     []string // "NAME=value", beside the few that every process gets
	Dir     string   // working folder; a temporary one by default
	Stdin   string   // what the process reads from standard input; nothing by default
}

// A Process is a command of this module that runs on its own, as it would in
// production. Only its Stdout, Stderr and PID may be used outside the test's
// goroutine.
type Process struct {
	tb    testing.TB
	child *child
	out   *output
	name  string
}

// Start builds the command if need be and starts it. The process is killed at
// the end of the test if it still runs, and what it wrote is shown when the test
// has failed.
//
// It does not inherit the environment: a variable that configures Backstop on
// the developer's machine must not change what a test means. It gets PATH, HOME
// and TMPDIR, of which the last two are its own folder.
func Start(tb testing.TB, c Command) *Process {
	tb.Helper()
	if c.Dir == "" {
		c.Dir = tb.TempDir()
	}
	p := &Process{tb: tb, out: newOutput(), name: c.Package}
	cmd := exec.Command(Build(tb, c.Package), c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.Dir, "TMPDIR=" + c.Dir}, c.Env...)
	cmd.Stdout, cmd.Stderr = p.out.writer(stdout), p.out.writer(stderr)
	if c.Stdin != "" {
		cmd.Stdin = strings.NewReader(c.Stdin)
	}

	child, err := startChild(cmd)
	if err != nil {
		tb.Fatal(err)
	}
	p.child = child
	tb.Cleanup(func() {
		if err := p.child.kill(); err != nil {
			tb.Errorf("end %s: %v", p.name, err)
		}
		if tb.Failed() {
			p.out.end()
			tb.Logf("%s wrote:\n%s", p.name, p.out.tail(100))
		}
	})
	return p
}

// PID returns the process's ID.
func (p *Process) PID() int { return p.child.pid() }

// Stdout returns what the process wrote to standard output so far.
func (p *Process) Stdout() string { return p.out.of(stdout) }

// Stderr returns what the process wrote to standard error so far.
func (p *Process) Stderr() string { return p.out.of(stderr) }

// Signal sends a signal to this one process. One that has ended is left alone.
func (p *Process) Signal(sig syscall.Signal) {
	p.tb.Helper()
	if err := p.child.signal(sig); err != nil {
		p.tb.Fatal(err)
	}
}

// Kill ends the process as kill -9 does and returns when it is gone.
func (p *Process) Kill() {
	p.tb.Helper()
	if err := p.child.kill(); err != nil {
		p.tb.Fatal(err)
	}
}

// Wait waits for the process to end and returns its exit status, which is -1
// when a signal ended it. It fails the test if the process runs longer.
func (p *Process) Wait(within time.Duration) int {
	p.tb.Helper()
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-p.child.done:
	case <-late.C:
		p.tb.Fatalf("%s still runs after %v", p.name, within)
	}
	return p.child.cmd.ProcessState.ExitCode()
}

// WaitLine waits for a line of output, on either stream, that matches re and
// returns the match and its groups. Lines already written count. It fails the
// test when the time is up or the process ends without such a line.
func (p *Process) WaitLine(re *regexp.Regexp, within time.Duration) []string {
	p.tb.Helper()
	return p.WaitLines(re, 1, within)[0]
}

// WaitLines is WaitLine for n lines that match.
func (p *Process) WaitLines(re *regexp.Regexp, n int, within time.Duration) [][]string {
	p.tb.Helper()
	late := time.NewTimer(within)
	defer late.Stop()
	var found [][]string
	for read, ended := 0, false; ; {
		lines, more := p.out.since(read)
		read += len(lines)
		for _, line := range lines {
			if match := re.FindStringSubmatch(line); match != nil {
				found = append(found, match)
			}
		}
		if len(found) >= n {
			return found[:n]
		}
		if ended {
			p.tb.Fatalf("%s ended with %v after %d of %d lines that match %q",
				p.name, p.child.cmd.ProcessState, len(found), n, re)
		}
		select {
		case <-more:
		case <-p.child.done:
			p.out.end()
			ended = true // and look once more: it may have written before it ended
		case <-late.C:
			p.tb.Fatalf("%s wrote %d of %d lines that match %q within %v", p.name, len(found), n, re, within)
		}
	}
}
