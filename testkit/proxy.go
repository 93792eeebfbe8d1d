package testkit

import (
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Proxy stands between a client and a server and breaks their connections on
// request. A new one passes everything on at once.
//
// Its methods may be called from any goroutine, except Restore.
type Proxy struct {
	tb     testing.TB
	addr   string
	target string
	work   sync.WaitGroup // every goroutine of the proxy

	mu       sync.Mutex
	listener *net.TCPListener // nil while cut
	links    map[*link]struct{}
	delay    time.Duration
	dropping bool
	dropped  int64
}

// NewProxy starts a proxy for the server at target, which need not run yet. It
// ends with the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	p := &Proxy{tb: tb, addr: FreeAddr(tb), target: target, links: make(map[*link]struct{})}
	if err := p.listen(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		p.Cut()
		p.work.Wait()
	})
	return p
}

// Addr returns the address that clients connect to, in the form host:port. It
// stays the same over Cut and Restore.
func (p *Proxy) Addr() string { return p.addr }

// Cut breaks all connections with a reset and refuses new ones, as when the
// server's process has died.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		closeListener(p.listener)
		p.listener = nil
	}
	p.resetLinks(func(*link) bool { return true })
}

// Delay holds back everything that arrives from now on for d, in each direction,
// as a long way does: what comes close together also goes on close together.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// DropReplies lets requests through and throws away what the server answers: it
// has done what it was asked, and the client cannot know. Connections stay open.
func (p *Proxy) DropReplies() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropping = true
}

// Dropped returns how many bytes of replies were thrown away so far. A change
// shows that the server has answered a request.
func (p *Proxy) Dropped() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// Restore makes everything pass at once again, and listens again after a Cut. It
// resets the connections that have lost a reply: TCP never loses a part and then
// goes on, and a client would take the next reply for the lost one.
func (p *Proxy) Restore() {
	p.tb.Helper()
	if err := p.listen(); err != nil {
		p.tb.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.dropping = 0, false
	p.resetLinks(func(l *link) bool { return l.lossy })
}

// resetLinks breaks the connections that which chooses. The caller holds p.mu.
func (p *Proxy) resetLinks(which func(*link) bool) {
	for l := range p.links {
		if which(l) {
			l.reset()
			delete(p.links, l)
		}
	}
}

// listen opens the proxy's port, unless it is open.
func (p *Proxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("open the proxy of %s: %w", p.target, err)
	}
	p.listener = listener.(*net.TCPListener)
	p.work.Go(func() { p.accept(listener) })
	return nil
}

// closeListener makes the port refuse connections at once. Closing is not enough:
// a process that is just being started holds a copy of the socket for a moment.
func closeListener(listener *net.TCPListener) {
	if raw, err := listener.SyscallConn(); err == nil {
		// Systems other than Linux refuse this; there the moment has to pass.
		_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
	}
	// The only error is that it was closed, and nobody else closes it.
	_ = listener.Close()
}

// accept serves connections until the listener is closed.
func (p *Proxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return // closed by Cut
		}
		p.work.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

// serve connects one client to the server until both are done or one breaks.
func (p *Proxy) serve(client *net.TCPConn) {
	l := &link{client: client, gone: make(chan struct{})}
	server, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil {
		l.reset()
		return
	}
	l.server = server.(*net.TCPConn)
	if !p.add(l) {
		l.reset()
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { l.pump(l.client, l.server, p.admitRequest) })
	pumps.Go(func() { l.pump(l.server, l.client, func(n int) (time.Time, bool) { return p.admitReply(l, n) }) })
	pumps.Wait()
	p.remove(l)
	l.close()
}

// add makes a connection known, unless the proxy was cut meanwhile.
func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// admitRequest says when bytes that arrive now from a client are to be passed on.
func (p *Proxy) admitRequest(int) (due time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Add(p.delay), true
}

// admitReply says the same for n bytes from the server, and whether they are to
// be passed on at all.
func (p *Proxy) admitReply(l *link, n int) (due time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropping {
		l.lossy = true
		p.dropped += int64(n)
		return time.Time{}, false
	}
	return time.Now().Add(p.delay), true
}
