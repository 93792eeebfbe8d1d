package vendors_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"backstop/lead"
	"backstop/providers/httpjson"
	"backstop/providers/vendors"
)

// A httpProxy opens ways to one server, whatever host it is asked for, and hands
// requests to http addresses on. It keeps what it saw.
type httpProxy struct {
	*httptest.Server
	refuse int // the status with which it refuses; 0: it does not
	to     string

	mu   sync.Mutex
	seen []string
}

func newProxy(t *testing.T, to string, refuse int) *httpProxy {
	p := &httpProxy{to: to, refuse: refuse}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *httpProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, fmt.Sprintf("%s %s %v", r.Method, r.URL, r.Header))
	p.mu.Unlock()
	switch {
	case p.refuse != 0:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(p.refuse)
		_, _ = io.WriteString(w, "<title>Proxy error for "+r.Host+"</title>") // the client may not read it
	case r.Method == http.MethodConnect:
		p.tunnel(w)
	default:
		_, _ = io.WriteString(w, answer) // what fails here fails in the client
	}
}

func (p *httpProxy) tunnel(w http.ResponseWriter) {
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.Close()
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the client went away
	}
	defer c.Close()
	if !write(c, "HTTP/1.1 200 Connection established\r\n\r\n") {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(server, c); server.(*net.TCPConn).CloseWrite() }) // one end closes the other
	both.Go(func() { _, _ = io.Copy(c, server); c.(*net.TCPConn).CloseWrite() })
	both.Wait()
}

func (p *httpProxy) saw() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.seen, "\n")
}

// through is a client that takes a proxy.
func through(t *testing.T, c *http.Client, proxy string) *http.Client {
	t.Helper()
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	transport := c.Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(u)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// nobody is an address where nobody listens. A port that was free a moment ago may be
// somebody's by now; this one is nobody's (tcpmux, RFC 1078).
const nobody = "http://127.0.0.1:1"

func TestProxies(t *testing.T) {
	a := newAuthority(t)
	server := a.serve(later, nil, gives(answer))
	at := func(refuse int) *httpProxy { return newProxy(t, server.Listener.Addr().String(), refuse) }
	ways := func(refuse int) string { return at(refuse).URL }
	silent := raw(t, func(c *net.TCPConn, _ *http.Request, done <-chan struct{}) { <-done })
	for _, c := range []struct {
		name, proxy, base string
		class             lead.Class
		detail            string
	}{
		{"to an https address", ways(0), "https://api.vendor.example", lead.ClassPartial, ""},
		{"to an http address", ways(0), "http://api.vendor.example", lead.ClassPartial, ""},
		{"refuses https with 407", ways(407), "https://api.vendor.example", lead.ClassTransient, "the proxy refused with 407"},
		{"refuses https with 502", ways(502), "https://api.vendor.example", lead.ClassTransient, "the proxy refused with 502"},
		{"refuses https with 403", ways(403), "https://api.vendor.example", lead.ClassTransient, "the proxy refused with 403"},
		{"refuses http with 407", ways(407), "http://api.vendor.example", lead.ClassTransient, "the proxy wants a name and a password"},
		{"refuses http with 502", ways(502), "http://api.vendor.example", lead.ClassTransient, `("Proxy error …")`},
		{"is away", nobody, "https://api.vendor.example", lead.ClassTransient, "the proxy cannot be reached: connection refused"},
		{"is away, for http", nobody, "http://api.vendor.example", lead.ClassTransient, "the proxy cannot be reached: connection refused"},
		{"hangs up", raw(t, sends("")), "https://api.vendor.example", lead.ClassTransient, "hung up while connecting"},
		{"does not speak HTTP", raw(t, sends("SSH-2.0\r\n\r\n")), "https://api.vendor.example", lead.ClassTransient, "no connection"},
		{"says nothing", silent, "https://api.vendor.example", lead.ClassTransient, "time-out connecting"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if !strings.Contains(c.detail, "time-out") {
				ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
			}
			defer cancel()
			p, err := vendors.New("clearbit", httpjson.Options{BaseURL: c.base, APIKey: secretKey, HTTP: through(t, a.trusting(), c.proxy)})
			if err != nil {
				t.Fatal(err)
			}
			got := ask(t, ctx, p, lead.Lead{Email: secretEmail}, lead.PersonName, lead.CompanyName, lead.PersonTitle)
			if got.Class != c.class || !strings.Contains(got.Detail, c.detail) {
				t.Errorf("answer is %s %d %q, want %s %q", got.Class, got.Status, got.Detail, c.class, c.detail)
			}
		})
	}
}

// To an https address the proxy opens a way, and sees neither key nor question.
func TestAProxyDoesNotSeeTheKey(t *testing.T) {
	a := newAuthority(t)
	keys := make(chan string, 1)
	server := a.serve(later, nil, func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("X-Api-Key")
		gives(`{"data":{"person":null,"company":null}}`)(w, r)
	})
	proxy := newProxy(t, server.Listener.Addr().String(), 0)
	p := vendors.NewHunter(httpjson.Options{BaseURL: "https://api.vendor.example", APIKey: secretKey, HTTP: through(t, a.trusting(), proxy.URL)})
	ask(t, t.Context(), p, lead.Lead{Email: secretEmail})
	if got := <-keys; got != secretKey {
		t.Errorf("the API got the key %q", got)
	}
	if saw := proxy.saw(); !strings.HasPrefix(saw, "CONNECT //api.vendor.example:443") || strings.Contains(saw, secretKey) || strings.Contains(saw, "maria") {
		t.Errorf("the proxy saw %s", saw)
	}
}

// The variables of the environment are read once in a process, and never apply to a
// loopback address; so another process asks, for a host that there is not.
func TestProxiesOfTheEnvironment(t *testing.T) {
	proxy := newProxy(t, "", http.StatusBadGateway)
	for _, c := range []struct {
		name   string
		env    []string
		detail string
		asked  bool
	}{
		{"HTTPS_PROXY is used", []string{"HTTPS_PROXY=" + proxy.URL}, "the proxy refused with 502", true},
		{"https_proxy is used", []string{"https_proxy=" + proxy.URL}, "the proxy refused with 502", true},
		{"NO_PROXY is heeded", []string{"HTTPS_PROXY=" + proxy.URL, "NO_PROXY=.invalid"}, "", false},
		{"HTTP_PROXY is not for https", []string{"HTTP_PROXY=" + proxy.URL}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(proxy.saw())
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(c.env, childBase+"=https://api.vendor.invalid")
			child.Stderr = os.Stderr
			detail, err := child.Output()
			if err != nil {
				t.Fatal(err)
			}
			if asked := len(proxy.saw()) > before; asked != c.asked || !strings.Contains(string(detail), c.detail) {
				t.Errorf("the proxy was asked: %t; the answer is %q", asked, detail)
			}
		})
	}
}

// childBase is the variable that makes of this test's binary a program that makes one
// call to a base_url and prints what came of it.
const childBase = "BACKSTOP_TEST_CHILD_BASE"

func oneCall(base string) {
	p := vendors.NewHunter(httpjson.Options{BaseURL: base, APIKey: secretKey})
	calls, _ := p.Plan(lead.Lead{Email: secretEmail}, want)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println(calls[0].Do(ctx).Detail)
}
