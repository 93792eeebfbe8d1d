package vendors_test

import (
	"cmp"
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

	lead    lead.Lead    // zero: one with nothing but the address
	missing []lead.Field // nil: want
	subject string       // whom the call is about; "": the address
	has     lead.Profile // a part of the profile
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

func TestClearbitAnswers(t *testing.T) {
	answers(t, sandbox.Clearbit, clearbitRows)
	answers(t, sandbox.Clearbit, clearbitPartRows)
	answers(t, sandbox.Clearbit, otherRows)
}

func TestHunterAnswers(t *testing.T) {
	answers(t, sandbox.Hunter, hunterRows)
	answers(t, sandbox.Hunter, hunterPartRows)
	answers(t, sandbox.Hunter, finderRows)
	answers(t, sandbox.Hunter, verifierRows)
	answers(t, sandbox.Hunter, otherRows)
}

func TestPDLAnswers(t *testing.T) {
	answers(t, sandbox.PDL, pdlRows)
	answers(t, sandbox.PDL, otherRows)
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
			if r.lead == (lead.Lead{}) {
				r.lead.Email = secretEmail
			}
			a := ask(t, ctx, provider(t, name, s.URL(name)), r.lead, r.missing...)
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
			for f, v := range r.has {
				if a.Profile[f] != v {
					t.Errorf("%s is %q, want %q", f, a.Profile[f], v)
				}
			}
			if n := s.CallsFor(name, cmp.Or(r.subject, secretEmail)); n != 1 {
				t.Errorf("the server got %d calls, want 1", n)
			}
		})
	}
}

// pageRows are all the tables of which docs/providers.md names every row.
var pageRows = [][]row{
	clearbitRows, clearbitPartRows, hunterRows, hunterPartRows, finderRows, verifierRows, pdlRows, otherRows,
}

// A row that is not in the page, or a page that names a row that is gone, fails.
func TestPageNamesEveryRow(t *testing.T) {
	page, err := os.ReadFile("../../docs/providers.md")
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
	for name, right := range map[string]string{"clearbit": "Bearer " + secretKey, "hunter": secretKey, "pdl": secretKey} {
		header := map[string]string{"clearbit": "Authorization", "hunter": "X-Api-Key", "pdl": "X-Api-Key"}[name]
		path := "/prefix/v2/combined/find"
		if name == "pdl" {
			path = "/prefix/v5/person/enrich"
		}
		t.Run(name, func(t *testing.T) {
			got := make(chan *http.Request, 1)
			url := serve(t, func(w http.ResponseWriter, r *http.Request) { got <- r; w.WriteHeader(500) })
			ask(t, t.Context(), provider(t, name, url+"/prefix/"), lead.Lead{Email: "maria+x@acme.example"})
			r := <-got
			if r.Header.Get(header) != right || strings.Contains(r.URL.String(), secretKey) {
				t.Errorf("%s is %q at %s", header, r.Header.Get(header), r.URL)
			}
			if r.URL.Path != path || r.URL.Query().Get("email") != "maria+x@acme.example" {
				t.Errorf("asked %s", r.URL)
			}
			if !strings.HasPrefix(r.Header.Get("User-Agent"), "backstop/") || len(r.TransferEncoding) != 0 || r.ContentLength != 0 {
				t.Errorf("header %v, transfer encoding %v, length %d", r.Header, r.TransferEncoding, r.ContentLength)
			}
		})
	}
}

// The sandbox says when its window is free again: in seconds, since the epoch or, at
// People Data Labs, as an ISO 8601 time.
func TestALimitSaysHowLongToWait(t *testing.T) {
	for seed := range uint64(7) {
		name := sandbox.Clearbit
		if seed == 0 {
			name = sandbox.PDL
		}
		s := start(t, sandbox.Script{Seed: seed, Limits: map[string]sandbox.Limit{name: {Rate: 1, Per: time.Minute}}})
		p := provider(t, name, s.URL(name))
		ask(t, t.Context(), p, lead.Lead{Email: secretEmail})
		a := ask(t, t.Context(), p, lead.Lead{Email: secretEmail})
		if a.Class != lead.ClassRateLimited || a.Wait < 45*time.Second || a.Wait > 61*time.Second {
			t.Errorf("answer is %s, waiting %s", a.Class, a.Wait)
		}
	}
}
