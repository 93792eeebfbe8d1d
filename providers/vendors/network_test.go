package vendors_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"backstop/lead"
	"backstop/providers/httpjson"
	"backstop/providers/vendors"
)

func TestWithoutAConnection(t *testing.T) {
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0) // a refused handshake is what is wanted
	tls.StartTLS()
	t.Cleanup(tls.Close)
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	for name, c := range map[string]struct{ base, detail string }{
		"a closed port":          {nobody, "connection refused"},
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
			p := vendors.NewHunter(httpjson.Options{HTTP: hc})
			a := ask(t, t.Context(), p, lead.Lead{Email: secretEmail})
			if a.Class != lead.ClassTransient || a.Detail != c.detail || dials != 1 {
				t.Errorf("answer is %s %q after %d dials", a.Class, a.Detail, dials)
			}
		})
	}
}
