package testkit

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A failingTB stands for a test that is expected to fail, and keeps what it says.
type failingTB struct {
	testing.TB
	said     strings.Builder
	cleanups []func()
}

func (f *failingTB) Helper()            {}
func (f *failingTB) Failed() bool       { return f.said.Len() > 0 }
func (f *failingTB) Cleanup(fun func()) { f.cleanups = append(f.cleanups, fun) }
func (f *failingTB) Logf(string, ...any) {
	// What a failed test logs beside is of no interest here.
}

func (f *failingTB) Errorf(format string, args ...any) { fmt.Fprintf(&f.said, format+"\n", args...) }

func (f *failingTB) Fatal(args ...any) {
	fmt.Fprintln(&f.said, args...)
	runtime.Goexit()
}

func (f *failingTB) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// failure runs a test that must fail, with its clean-up, and returns what it said.
func failure(t *testing.T, test func(tb testing.TB)) string {
	t.Helper()
	f := &failingTB{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for i := len(f.cleanups) - 1; i >= 0; i-- {
				f.cleanups[i]()
			}
		}()
		test(f)
	}()
	<-done
	if f.said.Len() == 0 {
		t.Fatal("the test passed; it should have failed")
	}
	return f.said.String()
}
