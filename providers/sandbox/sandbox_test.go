package sandbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestTheLimitIsExact(t *testing.T) {
	for _, provider := range vendors {
		t.Run(provider, func(t *testing.T) {
			s := start(t, sandbox.Script{Limits: map[string]sandbox.Limit{provider: {Rate: 20, Per: time.Hour}}})
			var all sync.WaitGroup
			statuses := make(chan int, 50)
			for range 50 {
				all.Go(func() {
					status, _, _ := get(t.Context(), s, provider, "a.b@acme.example")
					statuses <- status
				})
			}
			all.Wait()
			close(statuses)
			got := map[int]int{}
			for status := range statuses {
				got[status]++
			}
			tooFast := map[string]int{sandbox.Clearbit: 429, sandbox.Hunter: 403, sandbox.PDL: 429}[provider]
			if want := map[int]int{200: 20, tooFast: 30}; !cmp.Equal(got, want) {
				t.Errorf("answers are %v, want %v", got, want)
			}
			b := s.Books().Providers[provider]
			if b.OverLimit != 30 || b.Calls != 50 || b.MostForOnePerson != 50 || b.People != 1 || b.MostInAnyWindow != 50 || !cmp.Equal(b.ByStatus, got) {
				t.Errorf("books are %+v", b)
			}
		})
	}
}

func TestTheWindowMovesOn(t *testing.T) {
	s := start(t, sandbox.Script{Limits: map[string]sandbox.Limit{sandbox.Clearbit: {Rate: 2, Per: 200 * time.Millisecond}}})
	deadline := time.Now().Add(10 * time.Second)
	passed := 0
	for passed < 7 && time.Now().Before(deadline) {
		if status, _, _ := get(t.Context(), s, sandbox.Clearbit, "a.b@acme.example"); status == 200 {
			passed++
		}
	}
	b := s.Books().Providers[sandbox.Clearbit]
	if took := b.Last.Sub(b.First); passed != 7 || took < 600*time.Millisecond {
		t.Errorf("%d calls passed in %s; 7 need 600ms", passed, took)
	}
	if b.OverLimit != b.ByStatus[429] || b.ByStatus[200] != 7 {
		t.Errorf("books are %+v", b)
	}
}

func TestALimitMayDropOrOnlyCount(t *testing.T) {
	s := start(t, sandbox.Script{Limits: map[string]sandbox.Limit{
		sandbox.Clearbit: {Rate: 1, Per: time.Hour, Enforce: sandbox.EnforceDrop},
		sandbox.Hunter:   {Rate: 1, Per: time.Hour, Enforce: sandbox.EnforceNone},
	}})
	for _, provider := range vendors {
		if status, _, _ := get(t.Context(), s, provider, "a.b@acme.example"); status != 200 {
			t.Errorf("first answer of %s is %d", provider, status)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if status, _, _ := get(ctx, s, sandbox.Clearbit, "a.b@acme.example"); status != 0 {
		t.Errorf("clearbit answered a dropped call with %d", status)
	}
	if status, _, _ := get(t.Context(), s, sandbox.Hunter, "a.b@acme.example"); status != 200 {
		t.Errorf("hunter answered with %d", status)
	}
	await(t, func() bool { return s.Books().Providers[sandbox.Clearbit].Open == 0 })
	c, h := s.Books().Providers[sandbox.Clearbit], s.Books().Providers[sandbox.Hunter]
	if c.Dropped != 1 || c.OverLimit != 1 || c.ByStatus[0] != 1 || h.OverLimit != 1 || h.Dropped != 0 {
		t.Errorf("books are %+v and %+v", c, h)
	}
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

func TestCloseEndsCallsThatHang(t *testing.T) {
	s := start(t, sandbox.Script{Faults: []sandbox.Fault{{Kind: sandbox.KindHang}}})
	answered := make(chan int, 1)
	go func() {
		status, _, _ := get(context.Background(), s, sandbox.Hunter, "a.b@acme.example")
		answered <- status
	}()
	await(t, func() bool { return s.Books().Providers[sandbox.Hunter].Open == 1 })
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if status := <-answered; status != 0 {
		t.Errorf("a call that hung got %d", status)
	}
}

func TestFaultsHitTheSamePeopleEveryTime(t *testing.T) {
	script := sandbox.Script{Seed: 3, Known: map[string]float64{sandbox.Hunter: 0.5}, Faults: []sandbox.Fault{{Provider: sandbox.Hunter, Share: 0.3, Status: 503}}}
	run := func(script sandbox.Script) (statuses []int) {
		s := start(t, script)
		for _, l := range sandbox.SampleLeads(300, 1) {
			if l.Email == "" {
				continue
			}
			status, _, _ := get(t.Context(), s, sandbox.Hunter, l.Email)
			statuses = append(statuses, status)
		}
		return statuses
	}
	first, second := run(script), run(script)
	if d := cmp.Diff(first, second); d != "" {
		t.Errorf("the same script did something else: %s", d)
	}
	count := map[int]int{}
	for _, status := range first {
		count[status]++
	}
	n := len(first)
	if count[503] < n*2/10 || count[503] > n*4/10 || count[404] < n*2/10 || count[200]+count[404]+count[503] != n {
		t.Errorf("of %d people: %v", n, count)
	}
	script.Seed++
	if cmp.Equal(first, run(script)) {
		t.Error("another seed hit the same people")
	}
}

func TestFaultsHaveTimesCallsAndMatches(t *testing.T) {
	s := start(t, sandbox.Script{Faults: []sandbox.Fault{
		{Provider: sandbox.Clearbit, Match: "*+503@*", Status: 503},
		{Provider: sandbox.Clearbit, Match: "first.*", Calls: 2, Status: 500},
		{Provider: sandbox.Clearbit, From: time.Hour, To: 2 * time.Hour, Status: 502},
	}})
	ask := func(email string, want int) {
		t.Helper()
		if status, _, _ := get(t.Context(), s, sandbox.Clearbit, email); status != want {
			t.Errorf("%s got %d, want %d", email, status, want)
		}
	}
	ask("lead+503@acme.example", 503)
	ask("lead@acme.example", 200)
	ask("first.one@acme.example", 500)
	ask("first.one@acme.example", 500)
	ask("first.one@acme.example", 200)
	ask("first.two@acme.example", 500)
	s.SetEpoch(time.Now().Add(-90 * time.Minute))
	ask("lead@acme.example", 502)
	ask("lead+503@acme.example", 503)
	s.SetEpoch(time.Now().Add(-3 * time.Hour))
	ask("lead@acme.example", 200)
	if err := s.SetFaults(sandbox.Fault{Status: 451}); err != nil {
		t.Fatal(err)
	}
	ask("lead@acme.example", 451)
	if n := s.CallsFor(sandbox.Clearbit, "lead@acme.example"); n != 4 {
		t.Errorf("%d calls about one person, want 4", n)
	}
	if err := s.SetFaults(sandbox.Fault{Status: 42}); err == nil {
		t.Error("a fault that makes no sense was taken")
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

func TestClearbitTellsTheStateOfItsLimit(t *testing.T) {
	dates := 0
	for seed := range uint64(8) {
		s := start(t, sandbox.Script{Seed: seed, Limits: map[string]sandbox.Limit{sandbox.Clearbit: {Rate: 3, Per: time.Minute}}})
		_, h, _ := get(t.Context(), s, sandbox.Clearbit, "a.b@acme.example")
		if h.Get("X-RateLimit-Limit") != "3" || h.Get("X-RateLimit-Remaining") != "2" {
			t.Errorf("header is %v", h)
		}
		if reset := h.Get("X-RateLimit-Reset"); len(reset) == 10 {
			dates++
		} else if reset != "60" {
			t.Errorf("reset is %q", reset)
		}
	}
	if dates == 0 || dates == 8 {
		t.Errorf("%d of 8 accounts are told dates", dates)
	}
}

// Who is known and who is known by half is a share of all, chosen by the seed.
func TestSharesOfTheKnown(t *testing.T) {
	s := start(t, sandbox.Script{Known: map[string]float64{sandbox.Clearbit: 0.7}, Halves: map[string]float64{sandbox.Hunter: 0.5}})
	var known, halves, n int
	for _, l := range sandbox.SampleLeads(300, 5) {
		if l.Email == "" {
			continue
		}
		n++
		if s.IsKnown(sandbox.Clearbit, l.Email) {
			known++
		}
		_, _, body := get(t.Context(), s, sandbox.Hunter, l.Email)
		if strings.Contains(body, `"person":null`) || strings.Contains(body, `"company":null`) {
			halves++
		}
	}
	if known < n*6/10 || known > n*8/10 || halves < n*4/10 || halves > n*6/10 {
		t.Errorf("of %d people %d are known and %d by half", n, known, halves)
	}
}
