package testkit

import "syscall"

// dieWithParent has the kernel kill the process when this one ends in any way,
// so that an interrupted test run leaves no servers behind.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
