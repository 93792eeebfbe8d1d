package testkit

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

var (
	endMu sync.Mutex
	ends  []func()
)

// atExit has f called when the tests of this binary are over. What was
// registered last is called first.
func atExit(f func()) {
	endMu.Lock()
	defer endMu.Unlock()
	ends = append(ends, f)
}

// Main is the TestMain of a package that uses this one's servers:
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
//
// It runs the tests, fails them if goroutines are left over, stops the servers
// and exits. On Linux the servers also end when the test binary is killed.
func Main(m *testing.M) {
	code := m.Run()
	// The servers still run, so that a goroutine that hangs on one is found too;
	// only those that wait for the servers' processes are in their place.
	if err := goleak.Find(goleak.IgnoreAnyFunction("backstop/testkit.startChild.func1")); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines are left over:", err)
		code = max(code, 1)
	}
	endMu.Lock()
	defer endMu.Unlock()
	for _, f := range slices.Backward(ends) {
		f()
	}
	os.Exit(code)
}
