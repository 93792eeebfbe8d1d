package testkit

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// asPostgres makes a process run as the user postgres if this one is root's:
// PostgreSQL refuses root.
func asPostgres() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{}
	if uid, gid, err := postgresIDs(); err == nil && os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	}
	return attr
}

// giveToPostgres makes dir the home of the server's files.
func giveToPostgres(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid, err := postgresIDs()
	if err != nil {
		return fmt.Errorf("PostgreSQL does not run as root, and there is no user to run it as: %w", err)
	}
	return os.Chown(dir, int(uid), int(gid))
}

func postgresIDs() (uid, gid uint32, err error) {
	u, err := user.Lookup(postgresUser)
	if err != nil {
		return 0, 0, err
	}
	id, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return 0, 0, err
	}
	group, err := strconv.ParseUint(u.Gid, 10, 32)
	return uint32(id), uint32(group), err
}
