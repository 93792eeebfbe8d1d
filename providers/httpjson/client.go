package httpjson

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"
)

// The bounds of one client.
const (
	maxHeader = 64 << 10
	maxConns  = 256 // to one host
)

// DefaultClient is the HTTP client that all providers of a process share, so
// that connections are reused and there are never more than 256 to one host.
// The proxies of the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY) are used.
var DefaultClient = sync.OnceValue(func() *http.Client { return newClient(nil) })

// HTTPOptions are what a client may have of its own.
type HTTPOptions struct {
	// CAFile is a file of PEM certificates of authorities that are trusted beside
	// those of the system, such as that of a proxy that looks into TLS. "": none.
	CAFile string
}

// NewHTTPClient is a client like [DefaultClient] with a company's own
// authorities. Without any it is DefaultClient itself. A file that cannot be read
// or that has no certificate in it is an error.
func NewHTTPClient(o HTTPOptions) (*http.Client, error) {
	if o.CAFile == "" {
		return DefaultClient(), nil
	}
	pem, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read the CA bundle: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil { // a system without any: then these are all
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read the CA bundle: %s has no certificate in PEM form", o.CAFile)
	}
	return newClient(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}), nil
}

// newClient makes a client. Its own time-outs are no deadlines for a call, which
// the context has alone: the transport goes on dialling after the call that asked
// for it has left, and they are what ends that.
func newClient(trust *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		OnProxyConnectResponse: checkProxy,
		TLSClientConfig:        trust,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:    30 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		MaxResponseHeaderBytes: maxHeader,
		MaxConnsPerHost:        maxConns,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        30 * time.Second,
	}}
}

// proxyRefused is the status of a proxy that did not open a way to the API.
type proxyRefused int

func (p proxyRefused) Error() string { return fmt.Sprintf("the proxy refused with %d", int(p)) }

// checkProxy looks at the answer of a proxy before net/http turns it into an error
// that is nothing but the server's text.
func checkProxy(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode != http.StatusOK {
		return proxyRefused(res.StatusCode)
	}
	return nil
}
