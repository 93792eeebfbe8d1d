package providers_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"backstop/lead"
	"backstop/providers/sandbox"
)

// A row is a row of a provider's table in docs/providers.md.
type row struct {
	name   string // that of the subtest, which docs/providers.md names
	fault  sandbox.Fault
	class  lead.Class
	detail string // a part of it
	wait   time.Duration
	until  bool // a date of renewal is given
}

// status is a fault with the vendor's own body.
func status(code int) sandbox.Fault { return sandbox.Fault{Status: code} }

// says is a fault with a body of its own.
func says(code int, text string) sandbox.Fault { return sandbox.Fault{Status: code, Body: &text} }

var clearbitRows = []row{
	{name: "200 with person and company is ok", fault: status(200), class: lead.ClassOK},
	{name: "200 without the company is partial", class: lead.ClassPartial, detail: "no company",
		fault: says(200, `{"person":{"name":{"fullName":"Maria Garcia"},"employment":{"title":"CTO","name":"Acme","domain":"acme.example"}},"company":null}`)},
	{name: "200 without the person is partial", class: lead.ClassPartial, detail: "no person",
		fault: says(200, `{"person":null,"company":{"name":"Acme","domain":"acme.example"}}`)},
	{name: "200 with a wanted field open is partial", class: lead.ClassPartial,
		fault: says(200, `{"person":{"name":{"fullName":"Maria Garcia"}},"company":{"name":"Acme"}}`)},
	{name: "200 with person and company null is no_data", class: lead.ClassNoData,
		fault: says(200, `{"person":null,"company":null}`)},
	{name: "200 about another address is no_data", class: lead.ClassNoData, detail: "somebody else",
		fault: says(200, `{"person":{"email":"mario@acme-robotics.example","name":{"fullName":"Mario"}},"company":{"name":"Acme"}}`)},
	{name: "200 with an error is transient", class: lead.ClassTransient, detail: "an error in an answer",
		fault: says(200, `{"error":{"type":"api_error"},"person":{"name":{"fullName":"M"}}}`)},
	{name: "200 in another form is transient", class: lead.ClassTransient, detail: "not in the form",
		fault: says(200, `{"status":"down"}`)},
	{name: "202 queued is pending", class: lead.ClassPending, fault: says(202, `{"error":{"type":"queued"}}`)},
	{name: "202 with nulls is pending", class: lead.ClassPending, fault: says(202, `{"person":null,"company":null}`)},
	{name: "202 with an empty body is pending", class: lead.ClassPending, fault: says(202, "")},
	{name: "202 with another error is transient", class: lead.ClassTransient, fault: says(202, `{"error":{"type":"api_error"}}`)},
	{name: "400 params_invalid is our_bug", class: lead.ClassOurBug, fault: status(400)},
	{name: "401 auth_required is auth", class: lead.ClassAuth, fault: says(401, `{"error":{"type":"auth_required"}}`)},
	{name: "401 invalid_api_key is auth", class: lead.ClassAuth, fault: says(401, `{"error":{"type":"invalid_api_key"}}`)},
	{name: "402 is quota_exhausted", class: lead.ClassQuotaExhausted, fault: status(402)},
	{name: "404 unknown_record is no_data", class: lead.ClassNoData, fault: says(404, `{"error":{"type":"unknown_record"}}`)},
	{name: "404 unknown_record in an array is no_data", class: lead.ClassNoData, fault: says(404, `{"errors":[{"type":"unknown_record"}]}`)},
	{name: "404 unknown_route is our_bug", class: lead.ClassOurBug, detail: "unknown route", fault: says(404, `{"error":{"type":"unknown_route"}}`)},
	{name: "404 without a body is our_bug", class: lead.ClassOurBug, fault: says(404, "")},
	{name: "404 in HTML is transient", class: lead.ClassTransient, detail: "HTML", fault: sandbox.Fault{Kind: sandbox.KindHTML, Status: 404}},
	{name: "422 email_invalid is invalid_input", class: lead.ClassInvalidInput, fault: status(422)},
	{name: "429 rate_limit is rate_limited", class: lead.ClassRateLimited, fault: status(429)},
	{name: "429 with seconds left waits", class: lead.ClassRateLimited, wait: 30 * time.Second,
		fault: sandbox.Fault{Status: 429, Headers: map[string]string{"X-RateLimit-Reset": "30"}}},
	{name: "429 with a date waits no longer than the cap", class: lead.ClassRateLimited, wait: 15 * time.Minute,
		fault: sandbox.Fault{Status: 429, Headers: map[string]string{"X-RateLimit-Reset": "4102444800"}}},
	{name: "500 api_error is transient", class: lead.ClassTransient, fault: status(500)},
}

var hunterRows = []row{
	{name: "200 with person and company is ok", fault: status(200), class: lead.ClassOK},
	{name: "201 is as 200", fault: status(201), class: lead.ClassOK},
	{name: "200 without the company is partial", class: lead.ClassPartial, detail: "no company",
		fault: says(200, `{"data":{"person":{"name":{"fullName":"Maria Garcia"}},"company":null}}`)},
	{name: "200 without the person is partial", class: lead.ClassPartial, detail: "no person",
		fault: says(200, `{"data":{"person":null,"company":{"name":"Acme"}}}`)},
	{name: "200 with data null is no_data", class: lead.ClassNoData, fault: says(200, `{"data":null}`)},
	{name: "200 with person and company null is no_data", class: lead.ClassNoData, fault: says(200, `{"data":{"person":null,"company":null}}`)},
	{name: "200 about another address is no_data", class: lead.ClassNoData, detail: "somebody else",
		fault: says(200, `{"data":{"person":{"email":"mario@acme-robotics.example","name":{"fullName":"Mario"}},"company":null}}`)},
	{name: "200 with errors is transient", class: lead.ClassTransient, fault: says(200, `{"errors":[{"id":"x","code":500}],"data":{}}`)},
	{name: "200 with errors as an object is transient", class: lead.ClassTransient, fault: says(200, `{"errors":{"id":"x","code":500},"data":{}}`)},
	{name: "200 in another form is transient", class: lead.ClassTransient, detail: "not in the form", fault: says(200, `{"ok":true}`)},
	{name: "202 is pending", class: lead.ClassPending, fault: status(202)},
	{name: "202 with an empty body is pending", class: lead.ClassPending, fault: says(202, "")},
	{name: "222 is transient", class: lead.ClassTransient, detail: "2xx without data", fault: status(222)},
	{name: "400 wrong_params is our_bug", class: lead.ClassOurBug, fault: status(400)},
	{name: "401 is auth", class: lead.ClassAuth, fault: status(401)},
	{name: "403 is rate_limited", class: lead.ClassRateLimited, fault: status(403)},
	{name: "403 with a wait waits", class: lead.ClassRateLimited, wait: 7 * time.Second, fault: sandbox.Fault{Status: 403, Wait: 7 * time.Second}},
	{name: "404 is no_data", class: lead.ClassNoData, fault: status(404)},
	{name: "404 with errors as an object is no_data", class: lead.ClassNoData, fault: says(404, `{"errors":{"id":"not_found","code":404}}`)},
	{name: "404 in HTML is transient", class: lead.ClassTransient, detail: "HTML", fault: sandbox.Fault{Kind: sandbox.KindHTML, Status: 404}},
	{name: "422 is invalid_input", class: lead.ClassInvalidInput, fault: status(422)},
	{name: "429 is quota_exhausted", class: lead.ClassQuotaExhausted, fault: status(429)},
	{name: "429 with a date is quota_exhausted until then", class: lead.ClassQuotaExhausted, until: true,
		fault: sandbox.Fault{Status: 429, Wait: 20 * 24 * time.Hour}},
	{name: "451 is forbidden", class: lead.ClassForbidden, fault: status(451)},
	{name: "451 in HTML is forbidden", class: lead.ClassForbidden, fault: sandbox.Fault{Kind: sandbox.KindHTML, Status: 451}},
	{name: "500 is transient", class: lead.ClassTransient, fault: status(500)},
}

// otherRows are statuses that stand in neither table.
var otherRows = []row{
	{name: "204 is transient", class: lead.ClassTransient, detail: "2xx without data", fault: status(204)},
	{name: "206 is transient", class: lead.ClassTransient, detail: "2xx without data", fault: status(206)},
	{name: "301 is our_bug", class: lead.ClassOurBug, detail: "base_url", fault: status(301)},
	{name: "302 is transient", class: lead.ClassTransient, detail: "not followed", fault: status(302)},
	{name: "304 is transient", class: lead.ClassTransient, fault: status(304)},
	{name: "308 is our_bug", class: lead.ClassOurBug, detail: "base_url", fault: status(308)},
	{name: "418 is our_bug", class: lead.ClassOurBug, fault: status(418)},
	{name: "502 in HTML is transient", class: lead.ClassTransient, detail: "HTML instead of JSON", fault: sandbox.Fault{Kind: sandbox.KindHTML}},
	{name: "503 with a wait waits", class: lead.ClassTransient, wait: 4 * time.Second, fault: sandbox.Fault{Status: 503, Wait: 4 * time.Second}},
	{name: "a truncated answer is transient", class: lead.ClassTransient, detail: "truncated", fault: sandbox.Fault{Kind: sandbox.KindTruncate}},
	{name: "HTML behind the JSON is transient", class: lead.ClassTransient, detail: "more after the JSON", fault: sandbox.Fault{Kind: sandbox.KindAppend}},
	{name: "a hang-up is transient", class: lead.ClassTransient, detail: "hung up", fault: sandbox.Fault{Kind: sandbox.KindClose}},
	{name: "a reset is transient", class: lead.ClassTransient, detail: "connection reset", fault: sandbox.Fault{Kind: sandbox.KindReset}},
	{name: "a dropped call is transient", class: lead.ClassTransient, detail: "time-out waiting", fault: sandbox.Fault{Kind: sandbox.KindDrop}},
	{name: "a call that hangs is transient", class: lead.ClassTransient, detail: "time-out waiting", fault: sandbox.Fault{Kind: sandbox.KindHang}},
	{name: "a body that stalls is transient", class: lead.ClassTransient, detail: "time-out reading", fault: sandbox.Fault{Kind: sandbox.KindStall}},
	{name: "a slow answer is ok", class: lead.ClassOK, fault: sandbox.Fault{Kind: sandbox.KindSlow, Delay: 20 * time.Millisecond}},
}

func TestClearbitAnswers(t *testing.T) {
	answers(t, sandbox.Clearbit, clearbitRows)
	answers(t, sandbox.Clearbit, otherRows)
}

func TestHunterAnswers(t *testing.T) {
	answers(t, sandbox.Hunter, hunterRows)
	answers(t, sandbox.Hunter, otherRows)
}

func answers(t *testing.T, name string, rows []row) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.fault.Provider = name
			s := start(t, sandbox.Script{Faults: []sandbox.Fault{r.fault}})
			// Only what never ends runs into the deadline.
			timeout := 10 * time.Second
			if strings.Contains(r.detail, "time-out") {
				timeout = time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			a := ask(t, ctx, provider(t, name, s.URL(name)), lead.Lead{Email: secretEmail})
			if a.Class != r.class || !strings.Contains(a.Detail, r.detail) {
				t.Errorf("answer is %s %q, want %s %q", a.Class, a.Detail, r.class, r.detail)
			}
			if a.Class != lead.ClassOK && a.Class != lead.ClassPartial && a.Detail == "" {
				t.Error("no detail")
			}
			if code := r.fault.Status; code != 0 && a.Status != code {
				t.Errorf("status is %d, want %d", a.Status, code)
			}
			if a.Wait != r.wait {
				t.Errorf("wait is %s, want %s", a.Wait, r.wait)
			}
			if left := time.Until(a.Until); r.until == a.Until.IsZero() || r.until && (left < 19*24*time.Hour || left > 20*24*time.Hour) {
				t.Errorf("until is %s", a.Until)
			}
			if a.Class.HasData() != (len(a.Profile) > 0) {
				t.Errorf("class %s with the profile %v", a.Class, a.Profile)
			}
			if n := s.CallsFor(name, secretEmail); n != 1 {
				t.Errorf("the server got %d calls, want 1", n)
			}
		})
	}
}

// Each state is an answer; the two that are not are told apart.
func TestHunterVerifierAnswers(t *testing.T) {
	verifier := func(code int, text string) sandbox.Fault {
		return sandbox.Fault{Provider: sandbox.Hunter, Endpoint: "email-verifier", Status: code, Body: &text}
	}
	rows := []struct {
		name  string
		fault sandbox.Fault
		class lead.Class
		state string
	}{
		{"a status that is not documented is no_data", verifier(200, `{"data":{"status":"perhaps"}}`), lead.ClassNoData, ""},
		{"no status is transient", verifier(200, `{"data":{"score":3}}`), lead.ClassTransient, ""},
		{"another address is no_data", verifier(200, `{"data":{"email":"mario@acme.example","status":"valid"}}`), lead.ClassNoData, ""},
		{"202 while it runs is pending", verifier(202, `{"data":{"status":null}}`), lead.ClassPending, ""},
		{"222 is transient", verifier(222, `{}`), lead.ClassTransient, ""},
	}
	for _, state := range []string{"valid", "invalid", "accept_all", "webmail", "disposable", "unknown"} {
		rows = append(rows, struct {
			name  string
			fault sandbox.Fault
			class lead.Class
			state string
		}{"200 " + state + " is ok", verifier(200, `{"data":{"status":"`+state+`","score":50}}`), lead.ClassOK, state})
	}
	l := lead.Lead{Email: secretEmail, Name: "Maria Garcia", Title: "CTO", Company: "Acme", Domain: "acme.example"}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sandbox.Script{Faults: []sandbox.Fault{r.fault}})
			a := ask(t, t.Context(), provider(t, "hunter", s.URL(sandbox.Hunter)), l, lead.PersonEmailStatus)
			if a.Class != r.class || a.Profile[lead.PersonEmailStatus] != r.state {
				t.Errorf("answer is %s %q with the state %q, want %s %q", a.Class, a.Detail, a.Profile[lead.PersonEmailStatus], r.class, r.state)
			}
		})
	}
}

// pageRows are all the tables of which docs/providers.md names every row.
var pageRows = [][]row{clearbitRows, hunterRows, otherRows}

// A row that is not in the page, or a page that names a row that is gone, fails.
func TestPageNamesEveryRow(t *testing.T) {
	page, err := os.ReadFile("../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	named, rows := strings.Count(string(page), "| `"), 0
	for _, table := range pageRows {
		rows += len(table)
		for _, r := range table {
			if !strings.Contains(string(page), "`"+r.name+"`") {
				t.Errorf("docs/providers.md does not name the test %q", r.name)
			}
		}
	}
	if named != rows {
		t.Errorf("docs/providers.md names %d tests, there are %d", named, rows)
	}
}

func TestKeysGoIntoTheHeaderThatTheVendorWants(t *testing.T) {
	for name, right := range map[string]string{"clearbit": "Bearer " + secretKey, "hunter": secretKey} {
		header := map[string]string{"clearbit": "Authorization", "hunter": "X-Api-Key"}[name]
		t.Run(name, func(t *testing.T) {
			got := make(chan *http.Request, 1)
			url := serve(t, func(w http.ResponseWriter, r *http.Request) { got <- r; w.WriteHeader(500) })
			ask(t, t.Context(), provider(t, name, url+"/prefix/"), lead.Lead{Email: "maria+x@acme.example"})
			r := <-got
			if r.Header.Get(header) != right || strings.Contains(r.URL.String(), secretKey) {
				t.Errorf("%s is %q at %s", header, r.Header.Get(header), r.URL)
			}
			if r.URL.Path != "/prefix/v2/combined/find" || r.URL.Query().Get("email") != "maria+x@acme.example" {
				t.Errorf("asked %s", r.URL)
			}
			if !strings.HasPrefix(r.Header.Get("User-Agent"), "backstop/") || len(r.TransferEncoding) != 0 || r.ContentLength != 0 {
				t.Errorf("header %v, transfer encoding %v, length %d", r.Header, r.TransferEncoding, r.ContentLength)
			}
		})
	}
}

// The sandbox says when its window is free again, in seconds or as a date.
func TestALimitSaysHowLongToWait(t *testing.T) {
	for seed := range uint64(6) {
		s := start(t, sandbox.Script{Seed: seed, Limits: map[string]sandbox.Limit{sandbox.Clearbit: {Rate: 1, Per: time.Minute}}})
		p := provider(t, "clearbit", s.URL(sandbox.Clearbit))
		ask(t, t.Context(), p, lead.Lead{Email: secretEmail})
		a := ask(t, t.Context(), p, lead.Lead{Email: secretEmail})
		if a.Class != lead.ClassRateLimited || a.Wait < 45*time.Second || a.Wait > 61*time.Second {
			t.Errorf("answer is %s, waiting %s", a.Class, a.Wait)
		}
	}
}
