//go:build !linux

package testkit

import "syscall"

// asPostgres changes nothing: on other systems the tests do not run as root.
func asPostgres() *syscall.SysProcAttr { return nil }

func giveToPostgres(string) error { return nil }
