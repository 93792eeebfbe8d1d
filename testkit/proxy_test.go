package testkit

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// echo starts a server that returns each byte, and the end of what it is sent.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn) // fails when the test breaks the connection
			})
		}
	})
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		work.Wait()
	})
	return listener.Addr().String()
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(soon)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// exchange sends a word to an echo and waits for it to come back.
func exchange(conn net.Conn, word string) error {
	if _, err := conn.Write([]byte(word)); err != nil {
		return err
	}
	back := make([]byte, len(word))
	if _, err := io.ReadFull(conn, back); err != nil {
		return err
	}
	if string(back) != word {
		return errors.New("came back as " + string(back))
	}
	return nil
}

func TestAProxyPassesEverythingOn(t *testing.T) {
	t.Parallel()
	conn := dial(t, NewProxy(t, echo(t)).Addr())
	long := strings.Repeat("0123456789", 100_000)
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(conn, long)
		sent <- errors.Join(err, conn.CloseWrite())
	}()
	back, err := io.ReadAll(conn) // until the orderly end, which also comes through
	if err := errors.Join(err, <-sent); err != nil {
		t.Fatal(err)
	}
	if string(back) != long {
		t.Errorf("%d bytes came back changed, of %d", len(back), len(long))
	}
}

func TestCutBreaksConnectionsAndRefusesNewOnes(t *testing.T) {
	t.Parallel()
	proxy := NewProxy(t, echo(t))
	conn := dial(t, proxy.Addr())
	if err := exchange(conn, "before"); err != nil {
		t.Fatal(err)
	}

	proxy.Cut()
	proxy.Cut() // again: no harm
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reading from a cut connection: %v, want a reset", err)
	}
	if conn, err := net.Dial("tcp", proxy.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connecting to a cut proxy: %v, %v; want it refused", conn, err)
	}

	proxy.Restore()
	if err := exchange(dial(t, proxy.Addr()), "after"); err != nil {
		t.Errorf("after Restore: %v", err)
	}
}

func TestAProxyOfADeadServerResets(t *testing.T) {
	t.Parallel()
	conn, err := net.Dial("tcp", NewProxy(t, FreeAddr(t)).Addr())
	if err == nil {
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("connecting and reading: %v, want a reset", err)
	}
}

func TestDelayHoldsBackEachDirection(t *testing.T) {
	t.Parallel()
	const delay = 100 * time.Millisecond
	proxy := NewProxy(t, echo(t))
	conn := dial(t, proxy.Addr())
	proxy.Delay(delay)

	start := time.Now()
	if err := exchange(conn, "there and back"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 2*delay {
		t.Errorf("there and back took %v, want %v or more", took, 2*delay)
	}

	proxy.Delay(time.Hour)
	proxy.Restore()
	if err := exchange(conn, "at once"); err != nil {
		t.Errorf("after Restore: %v", err)
	}
}

func TestDelayIsNotAddedUpOverWrites(t *testing.T) {
	t.Parallel()
	const (
		delay  = 200 * time.Millisecond
		writes = 20
	)
	proxy := NewProxy(t, echo(t))
	conn := dial(t, proxy.Addr())
	proxy.Delay(delay)
	start := time.Now()
	for range writes {
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.ReadFull(conn, make([]byte, writes)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took >= writes*delay/2 {
		t.Errorf("%d bytes took %v with a delay of %v", writes, took, delay)
	}
}

func TestADelayedProxyCanBeCut(t *testing.T) {
	t.Parallel()
	proxy := NewProxy(t, echo(t))
	conn := dial(t, proxy.Addr())
	proxy.Delay(time.Hour)
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	proxy.Cut() // and the test's end waits for the proxy's goroutines
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reading: %v, want a reset", err)
	}
}

// What the proxy is for: a command that was carried out and whose reply is lost.
func TestALostReplyLeavesTheCommandDone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := RedisServer(t)
	proxy := NewProxy(t, server.Addr())
	client := redis.NewClient(&redis.Options{
		Addr: proxy.Addr(), MaxRetries: -1, ReadTimeout: time.Second, PoolSize: 1,
	})
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		t.Fatal(err)
	}

	proxy.DropReplies()
	var timeout net.Error
	if err := client.Incr(ctx, "n").Err(); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a command whose reply is lost: %v, want a time-out", err)
	}
	if proxy.Dropped() == 0 {
		t.Error("no reply was dropped")
	}

	proxy.Restore()
	if n, err := client.Incr(ctx, "n").Result(); err != nil || n != 2 {
		t.Errorf("the next command says %d, %v; want 2: the lost one was done", n, err)
	}
}

func TestRestoreResetsConnectionsThatLostAReply(t *testing.T) {
	t.Parallel()
	proxy := NewProxy(t, echo(t))
	whole, lossy := dial(t, proxy.Addr()), dial(t, proxy.Addr())
	for _, conn := range []net.Conn{whole, lossy} {
		if err := exchange(conn, "hello"); err != nil {
			t.Fatal(err)
		}
	}
	proxy.DropReplies()
	if _, err := lossy.Write([]byte("lost")); err != nil {
		t.Fatal(err)
	}
	Eventually(t, soon, "the reply is dropped", func() bool { return proxy.Dropped() == 4 })
	proxy.Restore()
	if err := exchange(whole, "still here"); err != nil {
		t.Errorf("a connection that lost nothing: %v", err)
	}
	if _, err := lossy.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection that lost a reply: %v, want a reset", err)
	}
}
