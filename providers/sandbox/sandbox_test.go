package sandbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"backstop/providers/sandbox"
)

// vendors are those that are asked by code of their own.
var vendors = []string{sandbox.Clearbit, sandbox.Hunter, sandbox.PDL}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, script sandbox.Script) *sandbox.Server {
	t.Helper()
	s, err := sandbox.Start(t.Context(), script, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// get asks a provider about an address; status 0 is no whole answer.
func get(ctx context.Context, s *sandbox.Server, provider, email string) (status int, header http.Header, body string) {
	path := "/v2/combined/find?email="
	if provider == sandbox.PDL {
		path = "/v5/person/enrich?email="
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL(provider)+path+url.QueryEscape(email), nil)
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	req.Header.Set("X-API-KEY", "k")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, ""
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, res.Header, string(b)
	}
	return res.StatusCode, res.Header, string(b)
}

// await polls until ok, for as long as a slow machine could need.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to pass within 10 s")
		}
	}
}

func TestKeysAndRoutes(t *testing.T) {
	s := start(t, sandbox.Script{Keys: map[string]string{sandbox.Clearbit: "right"}})
	for _, c := range []struct {
		name, path, header, value string
		want                      int
	}{
		{"the right key", "/clearbit/v2/combined/find?email=a@b.example", "Authorization", "Bearer right", 200},
		{"the right key by Basic", "/clearbit/v2/combined/find?email=a@b.example", "Authorization", "Basic cmlnaHQ6", 200},
		{"a wrong key", "/clearbit/v2/combined/find?email=a@b.example", "Authorization", "Bearer wrong", 401},
		{"no key", "/hunter/v2/combined/find?email=a@b.example", "X-Other", "k", 401},
		{"any key", "/hunter/v2/combined/find?email=a@b.example", "X-API-KEY", "k", 200},
		{"a key in the query", "/hunter/v2/combined/find?email=a@b.example&api_key=k", "X-Other", "k", 401},
		{"the verifier", "/hunter/v2/email-verifier?email=a@b.example", "X-API-KEY", "k", 200},
		{"no address", "/hunter/v2/combined/find", "X-API-KEY", "k", 400},
		{"not an address", "/hunter/v2/combined/find?email=x", "X-API-KEY", "k", 422},
		{"a role address", "/clearbit/v2/combined/find?email=info@b.example", "Authorization", "Bearer right", 422},
		{"another path", "/clearbit/v2/combined/finds?email=a@b.example", "Authorization", "Bearer right", 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL("")+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set(c.header, c.value)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(bufio.NewReader(res.Body))
			if res.StatusCode != c.want || !json.Valid(body) || err != nil {
				t.Errorf("answer is %d %s, want %d", res.StatusCode, body, c.want)
			}
		})
	}
	if b := s.Books().Providers; b[sandbox.Clearbit].BadKey != 1 || b[sandbox.Hunter].BadKey != 2 {
		t.Errorf("bad keys: %d and %d", b[sandbox.Clearbit].BadKey, b[sandbox.Hunter].BadKey)
	}
}

func TestBooksCanBeReadFromOutsideAndReset(t *testing.T) {
	s := start(t, sandbox.Script{Latency: sandbox.Latency{Min: time.Millisecond, Max: 3 * time.Millisecond}})
	get(t.Context(), s, sandbox.Hunter, "maria.garcia@acme.example")
	read := func() (b sandbox.Books, text string) {
		t.Helper()
		res, err := http.Get(s.URL("") + "/books")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			t.Fatal(err)
		}
		return b, string(raw)
	}
	await(t, func() bool { return s.Books().Providers[sandbox.Hunter].Open == 0 })
	b, text := read()
	h := b.Providers[sandbox.Hunter]
	if h.Calls != 1 || h.ByStatus[200] != 1 || h.ByEndpoint["combined/find"] != 1 || h.MostInAnySecond != 1 || h.MostAtOnce != 1 || h.First.IsZero() {
		t.Errorf("book is %+v", h)
	}
	if strings.Contains(text, "maria") {
		t.Error("the books hold an address")
	}
	res, err := http.Post(s.URL("")+"/reset", "", nil)
	if err != nil || res.StatusCode != http.StatusNoContent {
		t.Fatalf("reset: %v %v", res, err)
	}
	res.Body.Close()
	if b, _ := read(); b.Providers[sandbox.Hunter].Calls != 0 {
		t.Errorf("after a reset: %+v", b)
	}
}
