package testkit

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A test run that is killed, by a time limit for instance, runs no clean-up. The
// kernel does it.
func TestAServerEndsWithTheTestBinary(t *testing.T) {
	t.Parallel()
	binary := exec.Command(os.Args[0], "-test.run=^TestAServerEndsWithItsTest$")
	binary.Env = append(os.Environ(), holdServer+"=1", "TMPDIR="+t.TempDir())
	if _, err := binary.StdinPipe(); err != nil { // it stays open, so that the test holds
		t.Fatal(err)
	}
	out, err := binary.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := binary.Start(); err != nil {
		t.Fatal(err)
	}

	pid := 0
	lines := bufio.NewScanner(out)
	for pid == 0 && lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "holding "); ok {
			if _, err := fmt.Sscan(rest, &pid); err != nil {
				t.Errorf("%q: %v", lines.Text(), err)
			}
		}
	}
	if err := binary.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := binary.Wait(); err == nil {
		t.Error("the test binary ended by itself; it was to be killed")
	}
	if pid == 0 {
		t.Fatal("the test binary started no server")
	}
	Eventually(t, soon, "the server of a killed test binary is gone", func() bool {
		return syscall.Kill(pid, 0) == syscall.ESRCH
	})
}
