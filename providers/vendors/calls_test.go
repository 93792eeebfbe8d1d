package vendors_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"backstop/lead"
	"backstop/providers/httpjson"
	"backstop/providers/vendors"
)

func TestARedirectIsNotFollowedWithTheKey(t *testing.T) {
	var elsewhere, calls atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for _, name := range coded {
		for to, location := range map[string]string{
			"another host": other, "itself": "", "another scheme": strings.Replace(other, "http:", "https:", 1), "nowhere": "http://%zz",
			"a path": "/else", "no address": "::",
		} {
			for _, code := range []int{301, 302, 303, 307, 308} {
				base := serve(t, func(w http.ResponseWriter, r *http.Request) {
					calls.Add(1)
					if location == "" {
						w.Header().Set("Location", r.URL.String())
					} else {
						w.Header().Set("Location", location)
					}
					w.WriteHeader(code)
				})
				a := ask(t, t.Context(), provider(t, name, base), lead.Lead{Email: secretEmail})
				if a.Status != code || a.Class.HasData() || a.Detail == "" {
					t.Errorf("%s: answer to %d to %s is %d %s %q", name, code, to, a.Status, a.Class, a.Detail)
				}
			}
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests went to the other host", n)
	}
	if n := calls.Load(); n != 3*6*5 {
		t.Errorf("%d requests for %d calls", n, 3*6*5)
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

// However many calls there are at once, no more connections are open than the bound.
func TestConnectionsAreBounded(t *testing.T) {
	const most, calls = 256, 300
	var open, peak, asked atomic.Int32
	full := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == most {
			close(full) // as many as there may be are waiting: now all are answered
		}
		<-full
		io.WriteString(w, answer)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			n := open.Add(1)
			for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
			}
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	p := provider(t, "clearbit", s.URL)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			if a := ask(t, ctx, p, lead.Lead{Email: secretEmail}); !a.Class.HasData() {
				t.Errorf("answer is %s %q", a.Class, a.Detail)
			}
		})
	}
	all.Wait()
	if n := peak.Load(); n > most {
		t.Errorf("%d connections were open at once", n)
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
	p, err := vendors.New("clearbit", httpjson.Options{BaseURL: s.URL, APIKey: secretKey, HTTP: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if a := ask(t, t.Context(), p, lead.Lead{Email: secretEmail}, lead.PersonName, lead.CompanyName); a.Class != lead.ClassOK {
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
	p := vendors.NewClearbit(httpjson.Options{BaseURL: base, HTTP: hc})
	if a := ask(t, t.Context(), p, lead.Lead{Email: secretEmail}); !a.Class.HasData() {
		t.Errorf("answer is %s %q", a.Class, a.Detail)
	}
}
