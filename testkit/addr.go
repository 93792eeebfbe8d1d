package testkit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Ports are taken from below the range that Linux (32768) and macOS (49152) give
// to outgoing connections. Otherwise a connection of anybody's could sit on the
// port of a server while that one is being restarted.
const (
	firstPort = 20000
	lastPort  = 32000
)

// given holds the addresses that this test binary has been given. None is given
// twice: its server may just be down.
var given sync.Map

// FreeAddr returns a loopback address with a port that nothing listened on a
// moment ago. It may be called from any goroutine of a test.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	addr, err := freeAddr()
	if err != nil {
		tb.Fatal(err)
	}
	return addr
}

// freeAddr draws ports at random, so that test binaries that run side by side
// seldom draw the same one.
//
// It connects to see whether a port is free. Listening on it instead could leave
// it taken for a moment: a process that is just being started holds copies of
// this one's sockets until it has its own program.
func freeAddr() (string, error) {
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort))
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			// Somebody listens there. The connection was only a question.
			_ = conn.Close()
			continue
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			continue
		}
		if _, taken := given.LoadOrStore(addr, true); !taken {
			return addr, nil
		}
	}
	return "", errors.New("find a free port on 127.0.0.1: 100 draws found none")
}
