package vendors_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/sandbox"
	"backstop/providers/vendors"
)

func TestMain(m *testing.M) {
	if base := os.Getenv(childBase); base != "" {
		oneCall(base)
		return
	}
	// net/http logs what a server sends unasked.
	log.SetOutput(io.Discard)
	goleak.VerifyTestMain(m)
}

// What must never stand in a detail.
const (
	secretKey   = "sk-never-in-a-detail"
	secretEmail = "maria.garcia@acme-robotics.example"
)

var want = []lead.Field{lead.PersonName, lead.PersonTitle, lead.CompanyName, lead.CompanyDomain}

// coded are the providers with code of their own.
var coded = []string{"clearbit", "hunter", "pdl"}

// start runs a sandbox that ends with the test.
func start(t *testing.T, script sandbox.Script) *sandbox.Server {
	t.Helper()
	s, err := sandbox.Start(t.Context(), script, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client is an HTTP client whose connections end with the test.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := httpjson.DefaultClient().Transport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// provider is one that asks base.
func provider(t *testing.T, name, base string) providers.Provider {
	t.Helper()
	p, err := vendors.New(name, httpjson.Options{BaseURL: base, APIKey: secretKey, Want: want, HTTP: client(t)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ask makes the provider's only call about the person for the missing fields.
func ask(t *testing.T, ctx context.Context, p providers.Provider, l lead.Lead, missing ...lead.Field) providers.Answer {
	t.Helper()
	if len(missing) == 0 {
		missing = want
	}
	calls, why := p.Plan(l, missing)
	if len(calls) != 1 {
		t.Fatalf("%d calls planned (%s), want 1", len(calls), why)
	}
	a := calls[0].Do(ctx)
	checkPrivacy(t, a)
	return a
}
