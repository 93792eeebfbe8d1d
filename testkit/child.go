package testkit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A child is a process that this test binary started and waits for.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the process has been waited for
	err  error         // what Wait said; to be read after done is closed
}

// startChild starts cmd so that it dies with this process.
//
// One goroutine locked to one thread starts the process and waits for it. The
// kernel's "signal on the parent's death" fires when the starting thread ends,
// not the process (prctl(2), PR_SET_PDEATHSIG), so that thread has to stay.
func startChild(cmd *exec.Cmd) (*child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithParent(cmd.SysProcAttr)
	// A grandchild may hold the output open: do not wait for it for ever.
	cmd.WaitDelay = 5 * time.Second

	c := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		c.err = cmd.Wait()
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return c, nil
}

// pid returns the process's ID.
func (c *child) pid() int { return c.cmd.Process.Pid }

// signal sends sig to the process. A process that has ended is no error.
func (c *child) signal(sig os.Signal) error {
	err := c.cmd.Process.Signal(sig)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v to process %d: %w", sig, c.pid(), err)
	}
	return nil
}

// kill ends the process at once, even a stopped one, and waits until it is gone.
func (c *child) kill() error {
	if err := c.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-c.done
	return nil
}

// stop halts the process with SIGSTOP and returns when the kernel has done so:
// the signal alone takes effect some time after it was sent.
func (c *child) stop(within time.Duration) error {
	if err := c.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	halted := func() bool { return processState(c.pid()) != "running" }
	if !poll(within, halted) {
		return fmt.Errorf("process %d still runs %v after SIGSTOP", c.pid(), within)
	}
	return nil
}

// processState reads from /proc whether a process is running or halted. Where
// there is no /proc it answers "unknown".
func processState(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "unknown"
	}
	// proc_pid_stat(5): pid (name) state …; the name may itself hold parentheses.
	_, rest, ok := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	switch {
	case !ok || rest == "":
		return "unknown"
	case rest[0] == 'T' || rest[0] == 't' || rest[0] == 'Z':
		return "halted"
	}
	return "running"
}

// resume lets a halted process go on.
func (c *child) resume() error { return c.signal(syscall.SIGCONT) }
