//go:build !linux

package testkit

import "syscall"

// dieWithParent does nothing where the kernel has no such service. There only
// the tests' own clean-up ends a process.
func dieWithParent(*syscall.SysProcAttr) {}
