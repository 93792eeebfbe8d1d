package providers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"backstop/lead"
	"backstop/providers"
)

func TestHostileServers(t *testing.T) {
	gz := okHead + "Content-Encoding: gzip\r\n"
	sized := func(head, body string) string {
		return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
	}
	for _, c := range []struct {
		name   string
		talk   func(*net.TCPConn, *http.Request, <-chan struct{})
		detail string // a part of it; the class is transient
	}{
		{"headers that drip are cut off by the deadline", drips("HTTP/1.1 200 OK\r\n", "X-A: b\r\n", 20*time.Millisecond), "time-out waiting"},
		{"headers without an end are cut off", drips("HTTP/1.1 200 OK\r\n", strings.Repeat("X-A: b\r\n", 1000), 0), "not an HTTP answer"},
		{"interim answers without an end are cut off", drips("", "HTTP/1.1 103 Early Hints\r\nX: "+strings.Repeat("y", 4000)+"\r\n\r\n", 0), "not an HTTP answer"},
		{"a body that drips is cut off by the deadline", drips(okHead+"\r\n", " ", 20*time.Millisecond), "time-out reading"},
		{"a body without an end is cut off at the bound", drips(okHead+"\r\n", strings.Repeat(" ", 1<<16), 0), "body over"},
		{"a chunked body without an end is cut off at the bound", drips(okHead+"Transfer-Encoding: chunked\r\n\r\n", "1000\r\n"+strings.Repeat(" ", 0x1000)+"\r\n", 0), "body over"},
		{"a body announced as too long is not read", sends(okHead + "Content-Length: 99999999999\r\n\r\n{"), "body over"},
		{"100 bytes announced and 23 sent are truncated", sends(okHead + "Content-Length: 100\r\n\r\n" + answer[:23]), "truncated body"},
		{"a whole document under a greater length is truncated", sends(okHead + "Content-Length: 500\r\n\r\n" + answer), "truncated body"},
		{"a chunked body that breaks off is truncated", sends(okHead + "Transfer-Encoding: chunked\r\n\r\n10\r\n{\"person\":null,"), "truncated body"},
		{"a body of no announced length that breaks off is truncated", sends(okHead + "\r\n" + answer[:23]), "truncated JSON"},
		{"broken gzip", sends(sized(gz, "this is not gzip")), "broken compression"},
		{"gzip that breaks off", sends(sized(gz, gzipped(strings.NewReader(answer))[:20])), "truncated body"},
		{"gzip with a wrong checksum", sends(sized(gz, flip(gzipped(strings.NewReader(answer))))), "broken compression"},
		{"a gzip bomb is cut off at the bound", sends(sized(gz, gzipped(io.LimitReader(zeros{}, 8<<20)))), "body over"},
		{"another compression than was asked for", sends(sized(okHead+"Content-Encoding: br\r\n", answer)), "unknown compression"},
		{"a hang-up before the answer", sends(""), "hung up"},
		{"half a status line", sends("HTTP/1.1 2"), "not an HTTP answer"},
		{"another protocol", sends("SSH-2.0-OpenSSH_9.6\r\n\r\n"), "not an HTTP answer"},
		{"a reset before the answer", resets(""), "connection reset"},
		{"HTML that says it is JSON", whole("<!doctype html><p>Sorry"), "HTML instead of JSON"},
		{"JSON that says it is HTML", sends(sized("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", answer)), "HTML instead of JSON"},
		{"another content type", sends(sized("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n", answer)), "wrong content type"},
		{"HTML behind the JSON", whole(answer + "<html>"), "more after the JSON"},
		{"two documents", whole(answer + answer), "more after the JSON"},
		{"an empty body", whole(""), "empty body"},
		{"a blank body", whole(" \r\n\t "), "empty body"},
		{"text", whole("Service Unavailable"), "not JSON"},
		{"NUL bytes", whole(strings.Repeat("\x00", 100)), "not JSON"},
		{"bytes that are no UTF-8", whole("{\"person\":{\"name\":\"Garc\xeda\"}}"), "invalid UTF-8"},
		{"a nest of arrays", whole(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), "nested too deeply"},
		{"a nest of objects", whole(strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)), "nested too deeply"},
		{"a crowd of values", whole("[" + strings.Repeat("0,", 500_000) + "0]"), "too many values"},
		{"a key twice", whole(`{"person":{"email":"a@b.example","email":"c@d.example"},"company":null}`), "a key stands twice"},
		{"an array", whole(`[` + answer + `]`), "not in the form"},
		{"a string", whole(`"ok"`), "not in the form"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if !strings.Contains(c.detail, "time-out") { // only what never ends may run into it
				ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
			}
			defer cancel()
			began := time.Now()
			a := ask(t, ctx, provider(t, "clearbit", raw(t, c.talk)), lead.Lead{Email: secretEmail})
			if a.Class != lead.ClassTransient || !strings.Contains(a.Detail, c.detail) {
				t.Errorf("answer is %s %q, want transient %q", a.Class, a.Detail, c.detail)
			}
			if deadline, _ := ctx.Deadline(); time.Now().After(deadline.Add(2 * time.Second)) {
				t.Errorf("the call took %s, long past its deadline", time.Since(began))
			}
		})
	}
}

func flip(gz string) string {
	b := []byte(gz)
	b[len(b)-8] ^= 1
	return string(b)
}

// A reset after the header may reach the client before the header does.
func TestAResetWithinTheBodyIsTransient(t *testing.T) {
	a := ask(t, t.Context(), provider(t, "hunter", raw(t, resets(okHead+"Content-Length: 100\r\n\r\n{"))), lead.Lead{Email: secretEmail})
	if a.Class != lead.ClassTransient || a.Detail == "" {
		t.Errorf("answer is %s %q", a.Class, a.Detail)
	}
}

// What a call takes does not grow with what the server sends: here 64
// MiB of zeros in gzip, a body that never ends, and half a million values.
func TestMemoryIsBounded(t *testing.T) {
	bomb := gzipped(io.LimitReader(zeros{}, 64<<20))
	for name, talk := range map[string]func(*net.TCPConn, *http.Request, <-chan struct{}){
		"bomb":    sends(fmt.Sprintf("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", okHead, len(bomb), bomb)),
		"endless": drips(okHead+"\r\n", strings.Repeat(" ", 1<<16), 0),
		"crowd":   whole("[" + strings.Repeat("0,", 500_000) + "0]"),
	} {
		t.Run(name, func(t *testing.T) {
			p := provider(t, "clearbit", raw(t, talk))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ask(t, t.Context(), p, lead.Lead{Email: secretEmail})
			runtime.ReadMemStats(&after)
			// All that was ever allocated, in both ends: the body in the steps in which
			// its buffer grows, and the document's tree.
			if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
				t.Errorf("the call allocated %d MiB", got>>20)
			}
		})
	}
}

func TestARedirectIsNotFollowedWithTheKey(t *testing.T) {
	var elsewhere atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for _, code := range []int{301, 302, 303, 307, 308} {
		base := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, code) })
		if a := ask(t, t.Context(), provider(t, "hunter", base), lead.Lead{Email: secretEmail}); a.Status != code {
			t.Errorf("answer to %d is %d %s %q", code, a.Status, a.Class, a.Detail)
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests went to the other host", n)
	}
}

// net/http sends a GET again when a connection that it reused breaks. The
// server would get two calls where the rate limit counted one.
func TestACallOnABrokenReusedConnectionIsOneRequest(t *testing.T) {
	for name, end := range map[string]func(*net.TCPConn){
		"closed": func(*net.TCPConn) {},
		"reset":  func(c *net.TCPConn) { c.SetLinger(0) },
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			base := raw(t, func(c *net.TCPConn, _ *http.Request, _ <-chan struct{}) {
				requests.Add(1)
				write(c, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", okHead, len(answer), answer))
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					requests.Add(1)
				}
				end(c)
			})
			p := provider(t, "clearbit", base)
			l := lead.Lead{Email: secretEmail}
			if a := ask(t, t.Context(), p, l); !a.Class.HasData() {
				t.Fatalf("first answer is %s %q", a.Class, a.Detail)
			}
			if a := ask(t, t.Context(), p, l); a.Class != lead.ClassTransient {
				t.Errorf("second answer is %s %q, want transient", a.Class, a.Detail)
			}
			if n := requests.Load(); n != 2 {
				t.Errorf("the server got %d requests for 2 calls", n)
			}
		})
	}
}

// Both after a right answer and after an error page the connection is used again.
func TestConnectionsAreReused(t *testing.T) {
	var opened, calls atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, "<html>"+strings.Repeat("x", 100_000))
			return
		}
		io.WriteString(w, answer) // declared as text/plain, by Go's own guess
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	p := provider(t, "clearbit", s.URL)
	for range 20 {
		ask(t, t.Context(), p, lead.Lead{Email: secretEmail})
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("20 calls one after the other opened %d connections, want 1", n)
	}
}

// The caller's going away says nothing about the provider; a deadline does.
func TestACancelledCallHasNoClass(t *testing.T) {
	for name, head := range map[string]string{"before the answer": "", "within the body": okHead + "Content-Length: 100\r\n\r\n{"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			base := raw(t, func(c *net.TCPConn, _ *http.Request, done <-chan struct{}) {
				write(c, head)
				cancel()
				<-done
			})
			if a := ask(t, ctx, provider(t, "hunter", base), lead.Lead{Email: secretEmail}); a.Class != "" || a.Detail != "cancelled" {
				t.Errorf("answer is %q %q, want no class", a.Class, a.Detail)
			}
		})
	}
	t.Run("before the call", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		base := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
		if a := ask(t, ctx, provider(t, "hunter", base), lead.Lead{Email: secretEmail}); a.Class != "" {
			t.Errorf("answer is %q %q, want no class", a.Class, a.Detail)
		}
	})
}

func TestWithoutAConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0) // a refused handshake is what is wanted
	tls.StartTLS()
	t.Cleanup(tls.Close)
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	for name, c := range map[string]struct{ base, detail string }{
		"a closed port":          {"http://" + closed, "connection refused"},
		"an unknown certificate": {tls.URL, "certificate refused"},
		"a server without TLS":   {strings.Replace(plain, "http:", "https:", 1), "not TLS"},
		"a server with TLS":      {strings.Replace(tls.URL, "https:", "http:", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			a := ask(t, ctx, provider(t, "clearbit", c.base), lead.Lead{Email: secretEmail})
			if name == "a server with TLS" { // Go's answers such a request with 400
				if a.Class != lead.ClassOurBug {
					t.Errorf("answer is %s %q", a.Class, a.Detail)
				}
				return
			}
			if a.Class != lead.ClassTransient || a.Detail == "" || !strings.Contains(a.Detail, c.detail) || a.Status != 0 {
				t.Errorf("answer is %s %d %q, want transient 0 %q", a.Class, a.Status, a.Detail, c.detail)
			}
		})
	}
}

func TestErrorsOfDialling(t *testing.T) {
	for _, c := range []struct {
		err    error
		detail string
	}{
		{&net.DNSError{Err: "no such host", Name: "acme.example", IsNotFound: true}, "no such host"},
		{&net.DNSError{Err: "i/o timeout", Name: "acme.example", IsTimeout: true}, "time-out connecting"},
		{&net.DNSError{Err: "server misbehaving", Name: "acme.example"}, "name look-up failed"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}, "out of file descriptors"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, "host unreachable"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}, "network unreachable"},
		{errors.New("acme.example is strange"), "no connection"},
	} {
		t.Run(c.detail, func(t *testing.T) {
			dials := 0
			hc := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				dials++
				return nil, c.err
			}}}
			p := providers.NewHunter(providers.Options{HTTP: hc})
			a := ask(t, t.Context(), p, lead.Lead{Email: secretEmail})
			if a.Class != lead.ClassTransient || a.Detail != c.detail || dials != 1 {
				t.Errorf("answer is %s %q after %d dials", a.Class, a.Detail, dials)
			}
		})
	}
}

// HTTP/2 takes the same way, with one request for one call.
func TestOverHTTP2(t *testing.T) {
	var requests atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if n, err := io.Copy(io.Discard, r.Body); r.ProtoMajor != 2 || n != 0 || err != nil {
			t.Errorf("HTTP/%d with a body of %d bytes, %v", r.ProtoMajor, n, err)
		}
		io.WriteString(w, answer)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	p, err := providers.New("clearbit", providers.Options{BaseURL: s.URL, APIKey: secretKey, HTTP: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if a := ask(t, t.Context(), p, lead.Lead{Email: secretEmail}, lead.PersonName); a.Class != lead.ClassOK {
		t.Errorf("answer is %s %q", a.Class, a.Detail)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// The client's own time-out would beat the context's; it is not used.
func TestTheContextIsTheOnlyDeadline(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(50 * time.Millisecond)
		defer timer.Stop()
		<-timer.C
		io.WriteString(w, answer)
	})
	hc := client(t)
	hc.Timeout = time.Millisecond
	p := providers.NewClearbit(providers.Options{BaseURL: base, HTTP: hc})
	if a := ask(t, t.Context(), p, lead.Lead{Email: secretEmail}); !a.Class.HasData() {
		t.Errorf("answer is %s %q", a.Class, a.Detail)
	}
}
