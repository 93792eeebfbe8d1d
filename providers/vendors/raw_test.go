package vendors_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// serve runs a handler that ends with the test.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// raw serves bytes: each connection is given to talk after a request came over
// it, and closed when talk returns. done is closed when the test ends.
func raw(t *testing.T, talk func(c *net.TCPConn, request *http.Request, done <-chan struct{})) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	done := make(chan struct{})
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed by the cleanup
			}
			all.Go(func() {
				defer c.Close()
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err == nil {
					talk(c.(*net.TCPConn), r, done)
				}
			})
		}
	})
	t.Cleanup(func() { close(done); l.Close(); all.Wait() })
	return "http://" + l.Addr().String()
}

// write sends text and reports whether the client still takes it.
func write(c net.Conn, text string) bool {
	_, err := io.WriteString(c, text)
	return err == nil
}

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

// sends answers every request with the same bytes and hangs up.
func sends(text string) func(*net.TCPConn, *http.Request, <-chan struct{}) {
	return func(c *net.TCPConn, _ *http.Request, _ <-chan struct{}) { write(c, text) }
}

// whole is a proper answer with this body.
func whole(body string) func(*net.TCPConn, *http.Request, <-chan struct{}) {
	return sends(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", okHead, len(body), body))
}

func resets(text string) func(*net.TCPConn, *http.Request, <-chan struct{}) {
	return func(c *net.TCPConn, _ *http.Request, _ <-chan struct{}) {
		if text != "" {
			write(c, text)
		}
		c.SetLinger(0)
	}
}

// drips sends head and then text again and again, until the client goes.
func drips(head, text string, every time.Duration) func(*net.TCPConn, *http.Request, <-chan struct{}) {
	return func(c *net.TCPConn, _ *http.Request, done <-chan struct{}) {
		tick := time.NewTicker(max(every, 1))
		defer tick.Stop()
		for ok := write(c, head); ok; ok = write(c, text) {
			if every == 0 {
				continue
			}
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}
}

func gzipped(r io.Reader) string {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		panic(err)
	}
	if _, err := io.Copy(z, r); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

const answer = `{"person":{"name":{"fullName":"Maria Garcia"}},"company":{"name":"Acme"}}`
