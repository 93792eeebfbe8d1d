package vendors_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"backstop/lead"
	"backstop/providers/httpjson"
	"backstop/providers/sandbox"
	"backstop/providers/vendors"
)

func TestWhatIsBilled(t *testing.T) {
	found := `{"data":{"email":"maria.garcia@acme-robotics.example","status":"valid"}}`
	for _, c := range []struct {
		name     string
		provider string
		fault    sandbox.Fault
		lead     lead.Lead
		missing  []lead.Field
		billed   bool
	}{
		{"clearbit, data", "clearbit", status(200), lead.Lead{}, nil, true},
		{"clearbit, nothing", "clearbit", says(200, `{"person":null,"company":null}`), lead.Lead{}, nil, true},
		{"clearbit, 201", "clearbit", status(201), lead.Lead{}, nil, true},
		{"clearbit, queued", "clearbit", says(202, ""), lead.Lead{}, nil, true},
		{"clearbit, unknown", "clearbit", status(404), lead.Lead{}, nil, true},
		{"clearbit, unknown route", "clearbit", says(404, `{"error":{"type":"unknown_route"}}`), lead.Lead{}, nil, false},
		{"clearbit, truncated", "clearbit", sandbox.Fault{Kind: sandbox.KindTruncate}, lead.Lead{}, nil, true},
		{"clearbit, HTML behind it", "clearbit", sandbox.Fault{Kind: sandbox.KindAppend}, lead.Lead{}, nil, true},
		{"clearbit, no answer", "clearbit", sandbox.Fault{Kind: sandbox.KindClose}, lead.Lead{}, nil, true},
		{"clearbit, 422", "clearbit", status(422), lead.Lead{}, nil, false},
		{"clearbit, 429", "clearbit", status(429), lead.Lead{}, nil, false},
		{"clearbit, 503", "clearbit", status(503), lead.Lead{}, nil, false},
		{"hunter, data", "hunter", status(200), lead.Lead{}, nil, true},
		{"hunter, about somebody else", "hunter", says(200, `{"data":{"person":{"email":"x@acme.example"},"company":null}}`), lead.Lead{}, nil, true},
		{"hunter, nothing", "hunter", says(200, `{"data":{"person":null,"company":null}}`), lead.Lead{}, nil, false},
		{"hunter, data null", "hunter", says(200, `{"data":null}`), lead.Lead{}, nil, false},
		{"hunter, truncated", "hunter", sandbox.Fault{Kind: sandbox.KindTruncate}, lead.Lead{}, nil, true},
		{"hunter, unknown", "hunter", status(404), lead.Lead{}, nil, false},
		{"hunter, 202", "hunter", status(202), lead.Lead{}, nil, false},
		{"hunter, a found address", "hunter", says(200, found), atFirm, address, true},
		{"hunter, no address found", "hunter", says(200, `{"data":{"email":null}}`), atFirm, address, false},
		{"hunter, verified", "hunter", says(200, found), wholeOf(secretEmail), state, true},
		{"hunter, webmail", "hunter", says(200, `{"data":{"status":"webmail"}}`), wholeOf(secretEmail), state, false},
		{"hunter, 222", "hunter", status(222), wholeOf(secretEmail), state, false},
		{"pdl, a match", "pdl", matched("9", aMatch(secretEmail)), lead.Lead{}, nil, true},
		{"pdl, an unlikely match", "pdl", matched("2", aMatch(secretEmail)), lead.Lead{}, nil, true},
		{"pdl, 404 inside", "pdl", says(200, `{"status":404}`), lead.Lead{}, nil, false},
		{"pdl, truncated", "pdl", sandbox.Fault{Kind: sandbox.KindTruncate}, lead.Lead{}, nil, true},
		{"pdl, 404", "pdl", status(404), lead.Lead{}, nil, false},
		{"pdl, 500", "pdl", status(500), lead.Lead{}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sandbox.Script{Faults: []sandbox.Fault{c.fault}})
			if c.lead == (lead.Lead{}) {
				c.lead.Email = secretEmail
			}
			if a := ask(t, t.Context(), provider(t, c.provider, s.URL(c.provider)), c.lead, c.missing...); a.Billed != c.billed {
				t.Errorf("%s %d %q: billed is %t", a.Class, a.Status, a.Detail, a.Billed)
			}
		})
	}
}

// wholeOf is a lead with an address of which only the state is missing.
func wholeOf(email string) lead.Lead {
	l := wholeLead
	l.Email = email
	return l
}

// A request that was not sent costs nothing.
func TestWithoutAConnectionNothingIsBilled(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for _, name := range coded {
		if a := ask(t, t.Context(), provider(t, name, "http://"+l.Addr().String()), lead.Lead{Email: secretEmail}); a.Billed || a.Class != lead.ClassTransient {
			t.Errorf("%s: %s %q, billed is %t", name, a.Class, a.Detail, a.Billed)
		}
	}
}

// What is counted here as billed is what the imitated vendors count, where every
// person is asked about once.
func TestTheBooksOfBothSidesAgree(t *testing.T) {
	share := map[string]float64{"clearbit": 0.7, "hunter": 0.7, "pdl": 0.7}
	s := start(t, sandbox.Script{Seed: 3, Known: share, Halves: map[string]float64{"hunter": 0.3}})
	for _, name := range coded {
		p, billed := provider(t, name, s.URL(name)), 0
		for _, l := range sandbox.SampleLeads(120, 3) {
			calls, _ := p.Plan(l, append(slices.Clone(want), lead.PersonEmail, lead.PersonEmailStatus))
			for _, call := range calls {
				if call.Endpoint != "companies/find" && call.Do(t.Context()).Billed {
					billed++
				}
			}
		}
		if b := s.Books().Providers[name]; b.Billed != billed || billed == 0 || billed == b.Calls && name != "clearbit" {
			t.Errorf("%s: %d calls were billed, its books say %d of %d", name, billed, b.Billed, b.Calls)
		}
	}
}

func TestTheDateOfRenewalIsAskedFor(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		account http.HandlerFunc
		until   time.Time
	}{
		{"a date", replies(200, `{"data":{"reset_date":"2026-03-20"}}`), time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)},
		{"a time", replies(200, `{"data":{"reset_date":"2026-03-20T06:00:00Z"}}`), time.Date(2026, 3, 20, 6, 0, 0, 0, time.UTC)},
		{"a date too far away", replies(200, `{"data":{"reset_date":"2027-03-20"}}`), now.Add(40 * 24 * time.Hour)},
		{"a past date", replies(200, `{"data":{"reset_date":"2026-02-20"}}`), time.Time{}},
		{"another form", replies(200, `{"data":{"reset_date":20260320}}`), time.Time{}},
		{"no date", replies(200, `{"data":null}`), time.Time{}},
		{"an array", replies(200, `[]`), time.Time{}},
		{"HTML", replies(200, `<html>`), time.Time{}},
		{"an error", replies(500, `{}`), time.Time{}},
		{"the same status", replies(429, `{}`), time.Time{}},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, time.Time{}},
		{"an answer that never comes", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			paths := make(chan string, 5)
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				paths <- r.URL.Path
				if r.Header.Get("X-Api-Key") != secretKey || r.URL.Path == "/v2/account" && r.URL.RawQuery != "" {
					t.Errorf("asked %s with the key %q", r.URL, r.Header.Get("X-Api-Key"))
				}
				if r.URL.Path == "/v2/account" {
					c.account(w, r)
					return
				}
				w.WriteHeader(http.StatusTooManyRequests)
			})
			p := vendors.NewHunter(httpjson.Options{BaseURL: base, APIKey: secretKey, HTTP: client(t), Now: func() time.Time { return now }})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if c.name != "an answer that never comes" {
				ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
			}
			defer cancel()
			a := ask(t, ctx, p, lead.Lead{Email: secretEmail})
			if a.Class != lead.ClassQuotaExhausted || a.Status != 429 || !a.Until.Equal(c.until) {
				t.Errorf("answer is %s %d until %s, want %s", a.Class, a.Status, a.Until, c.until)
			}
			if first, second := <-paths, <-paths; first != "/v2/combined/find" || second != "/v2/account" || len(paths) != 0 {
				t.Errorf("asked %s, %s and %d more", first, second, len(paths))
			}
		})
	}
}

// A date in the answer itself is enough, and nobody else is asked for one.
func TestTheDateIsNotAskedForWithoutNeed(t *testing.T) {
	s := start(t, sandbox.Script{Faults: []sandbox.Fault{
		{Provider: sandbox.Hunter, Status: 429, Wait: 24 * time.Hour, Match: "maria*"},
		{Provider: sandbox.Hunter, Status: 403, Match: "anna*"},
	}})
	p := provider(t, "hunter", s.URL(sandbox.Hunter))
	ask(t, t.Context(), p, lead.Lead{Email: secretEmail})
	ask(t, t.Context(), p, lead.Lead{Email: "anna@acme.example"})
	if b := s.Books().Providers[sandbox.Hunter]; b.Calls != 2 || b.ByEndpoint["account"] != 0 {
		t.Errorf("books are %+v", b)
	}
}

func replies(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text)) // the client has what it wants, or the test fails
	}
}
