package vendors_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"backstop/lead"
	"backstop/providers/httpjson"
	"backstop/providers/vendors"
)

// An authority signs certificates for the length of a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, key: newKey(t)}
	a.cert = a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "A firm's own"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(c *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	parent := a.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

// file is the authority as a bundle.
func (a *authority) file() string {
	path := filepath.Join(a.t.TempDir(), "bundle.pem")
	text := append([]byte("# a comment\n"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// serve runs a server whose certificate ends at a time.
func (a *authority) serve(ends time.Time, change func(*tls.Config), h http.HandlerFunc) *httptest.Server {
	key := newKey(a.t)
	cert := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: ends,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"api.vendor.example"},
	}, key)
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are what is wanted
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}}
	if change != nil {
		change(s.TLS)
	}
	s.StartTLS()
	a.t.Cleanup(s.Close)
	return s
}

// trusting is a client that trusts the authority, and whose connections end with
// the test.
func (a *authority) trusting() *http.Client {
	a.t.Helper()
	c, err := httpjson.NewHTTPClient(httpjson.HTTPOptions{CAFile: a.file()})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(c.CloseIdleConnections)
	return c
}

func gives(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) } // what fails here fails in the client
}

var later = time.Now().Add(time.Hour)

func TestTLSFaults(t *testing.T) {
	a := newAuthority(t)
	atLocalhost := func(s *httptest.Server) string { return strings.Replace(s.URL, "127.0.0.1", "localhost", 1) }
	cut := func(after int) string { // within the handshake
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				c, err := l.Accept()
				if err != nil {
					return // closed by the cleanup
				}
				_, _ = io.ReadFull(c, make([]byte, after)) // less is as good
				c.Close()
			}
		}()
		t.Cleanup(func() { l.Close(); <-ended })
		return "https://" + l.Addr().String()
	}
	for name, c := range map[string]struct {
		base, detail string
		client       *http.Client
	}{
		"a certificate that ended":  {a.serve(time.Now().Add(-time.Hour), nil, gives(answer)).URL, "certificate refused: expired", a.trusting()},
		"a certificate of another":  {atLocalhost(a.serve(later, nil, gives(answer))), "certificate refused: of another host", a.trusting()},
		"an authority nobody knows": {a.serve(later, nil, gives(answer)).URL, "certificate refused: of an unknown authority", client(t)},
		"an old version": {a.serve(later, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, gives(answer)).URL,
			"TLS refused: no version in common", a.trusting()},
		"a server that wants a certificate": {a.serve(later, func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }, gives(answer)).URL, "TLS refused", a.trusting()},
		"a hang-up at the hello":            {cut(0), "", a.trusting()},
		"a hang-up within the handshake":    {cut(50), "", a.trusting()},
	} {
		t.Run(name, func(t *testing.T) {
			for _, vendor := range coded {
				p, err := vendors.New(vendor, httpjson.Options{BaseURL: c.base, APIKey: secretKey, HTTP: c.client})
				if err != nil {
					t.Fatal(err)
				}
				got := ask(t, t.Context(), p, lead.Lead{Email: secretEmail})
				if got.Class != lead.ClassTransient || got.Detail == "" || !strings.Contains(got.Detail, c.detail) || got.Status != 0 {
					t.Errorf("%s: answer is %s %d %q, want transient %q", vendor, got.Class, got.Status, got.Detail, c.detail)
				}
			}
		})
	}
}

func TestAuthoritiesOfOnesOwn(t *testing.T) {
	a := newAuthority(t)
	s := a.serve(later, nil, gives(answer))
	p := vendors.NewClearbit(httpjson.Options{BaseURL: s.URL, HTTP: a.trusting()})
	if got := ask(t, t.Context(), p, lead.Lead{Email: secretEmail}); !got.Class.HasData() {
		t.Errorf("answer is %s %q", got.Class, got.Detail)
	}
	if none, err := httpjson.NewHTTPClient(httpjson.HTTPOptions{}); err != nil || none != httpjson.DefaultClient() {
		t.Errorf("without a file it is another client, %v", err)
	}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{empty: "has no certificate", empty + ".gone": "no such file", t.TempDir(): "read the CA bundle"} {
		if _, err := httpjson.NewHTTPClient(httpjson.HTTPOptions{CAFile: path}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error is %v, want %q", err, says)
		}
	}
}
