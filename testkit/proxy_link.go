package testkit

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// A link is one connection through a [Proxy]: from the client to the proxy, and
// from there to the server.
type link struct {
	client, server *net.TCPConn
	lossy          bool // a reply was thrown away; guarded by the proxy's mutex

	once sync.Once
	gone chan struct{} // closed when both connections are
}

// reset breaks both connections so that their other ends see a reset, not an
// orderly end.
func (l *link) reset() {
	for _, conn := range []*net.TCPConn{l.client, l.server} {
		if conn != nil {
			// It fails only on a connection that is closed already, which will do.
			_ = conn.SetLinger(0)
		}
	}
	l.close()
}

// close ends both connections, and with them the pumps.
func (l *link) close() {
	l.once.Do(func() {
		close(l.gone)
		for _, conn := range []*net.TCPConn{l.client, l.server} {
			if conn != nil {
				// Nothing is lost: what was to be passed on has been, or is given up.
				_ = conn.Close()
			}
		}
	})
}

// A chunk is some bytes and when they are to be passed on.
type chunk struct {
	data []byte
	due  time.Time
}

// pump copies one direction until its end, asking admit for each chunk when to
// pass it on and whether at all. An orderly end is passed on in its turn; any
// other breaks the link.
func (l *link) pump(from, to *net.TCPConn, admit func(n int) (time.Time, bool)) {
	// Reading goes on while chunks wait, so that a delay is not added up over them.
	chunks := make(chan chunk, 256)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(chunks)
		l.read(from, chunks, admit)
	})
	defer reader.Wait()

	for c := range chunks {
		if !l.waitUntil(c.due) {
			break
		}
		if _, err := to.Write(c.data); err != nil {
			l.reset()
			break
		}
	}
	if err := to.CloseWrite(); err != nil {
		l.reset()
	}
}

func (l *link) read(from *net.TCPConn, chunks chan<- chunk, admit func(n int) (time.Time, bool)) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if due, ok := admit(n); ok {
				select {
				case chunks <- chunk{bytes.Clone(buf[:n]), due}:
				case <-l.gone:
					return
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			l.reset()
			return
		}
	}
}

// waitUntil waits for a moment and reports false when the link broke before it.
func (l *link) waitUntil(due time.Time) bool {
	wait := time.Until(due)
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.gone:
		return false
	}
}
