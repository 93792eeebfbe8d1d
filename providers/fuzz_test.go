package providers

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"backstop/lead"
)

var seeds = []string{
	``, `{}`, `[]`, `null`, `"x"`, `1e999`, `{"person":null,"company":null}`, `{"error":{"type":"queued"}}`,
	`{"error":[{"type":"unknown_record"}]}`, `{"errors":{"id":"claimed_email","code":451}}`,
	`{"person":{"name":{"fullName":"A B"},"email":"a.b@acme.example","indexedAt":"2025-03-01T00:00:00Z"},"company":{"name":"Acme","metrics":{"employees":1e400}}}`,
	`{"data":{"person":{"name":5,"geo":[]},"company":{"metrics":{"employees":"51-250"}}},"meta":{}}`,
	`{"data":{"status":"valid","email":"a.b@acme.example"}}`, `{"a":1,"a":2}`, `{"a":1} {"b"`, "<html>", "{\"a\":\"\xff\"}", `{"a":"\u0000\ud800"}`,
	strings.Repeat("[", 100), "\ufeff{}",
	`{"id":"p","email":"a.b@acme.example","name":{"fullName":"A B"},"employment":{"title":"CTO"}}`, `{"name":"Acme","domain":"acme.example","metrics":{"employees":"1K-5K"}}`,
	`{"data":{"email":"a.b@acme.example","first_name":"A","last_name":"B","score":"97","domain":"acme.example","verification":{"status":"valid"}}}`, `{"data":{"email":null}}`,
	`{"status":200,"likelihood":8,"data":{"full_name":"a b","work_email":"a.b@acme.example","emails":[{"address":true}],"job_title":"vp","job_title_levels":["vp"],"job_company_website":"acme.example"}}`,
	`{"status":"404","likelihood":"x","data":[]}`, `{"status":404,"error":{"type":"not_found"}}`, "<html><title>502 Bad Gateway</title>", "Service Unavailable",
}

// What is read is JSON in the eyes of encoding/json too, and means the same.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		doc, bad := parse(body)
		if bad != "" {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("%q was read, but is not JSON", body)
		}
		again, err := json.Marshal(doc.v)
		if err != nil {
			t.Fatalf("what was read of %q cannot be written: %v", body, err)
		}
		if _, bad := parse(again); bad != "" {
			t.Errorf("%q: what was read is %s when written", body, bad)
		}
	})
}

// checkAnswer holds for every answer to anything.
func checkAnswer(t *testing.T, a Answer) {
	t.Helper()
	if !slices.Contains(lead.Classes, a.Class) {
		t.Errorf("class %q", a.Class)
	}
	if a.Class.HasData() != (len(a.Profile) > 0) || !a.Class.HasData() && a.Detail == "" {
		t.Errorf("class %s with the detail %q and the profile %v", a.Class, a.Detail, a.Profile)
	}
	// The only thing in quotation marks is the snippet of a page, of known words.
	words := pageQuote.ReplaceAllStringFunc(a.Detail, func(q string) string {
		checkSnippet(t, strings.TrimSuffix(strings.TrimPrefix(q, ` ("`), `")`))
		return ""
	})
	if strings.ContainsAny(words, "@<>{}\"") {
		t.Errorf("the detail %q quotes the answer", a.Detail)
	}
	if a.Confidence < 0 || a.Confidence > 1 {
		t.Errorf("confidence %g", a.Confidence)
	}
	if a.Wait < 0 || a.Wait > maxWait {
		t.Errorf("wait %s", a.Wait)
	}
	for field, v := range a.Profile {
		if _, err := lead.ParseField(string(field)); err != nil || v == "" || len(v) > lead.MaxFieldLength+20 {
			t.Errorf("field %s is %q", field, v)
		}
	}
}

var pageQuote = regexp.MustCompile(` \("[^"]*"\)`)

func fuzzVendor(f *testing.F, read func(reply, question) Answer) {
	for _, s := range seeds {
		for _, status := range []int{200, 202, 404, 429, 500} {
			f.Add(status, "application/json", "5", []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, status int, kind, after string, body []byte) {
		status = 100 + (status%900+900)%900
		r := reply{status: status, header: http.Header{"Content-Type": {kind}, "Retry-After": {after}}, body: body}
		a := read(r, question{lead.Lead{Email: "a.b@acme.example"}, []lead.Field{lead.PersonName}})
		checkAnswer(t, a)
		if a.Status != status {
			t.Errorf("status %d of %d", a.Status, status)
		}
		if a.Class.HasData() && status != 200 && status != 201 {
			t.Errorf("data out of a %d", status)
		}
	})
}

func fuzzClearbit(f *testing.F, endpoint string) {
	c := NewClearbit(Options{}).(*clearbit)
	fuzzVendor(f, func(r reply, q question) Answer { return c.read(r, q, endpoint) })
}

func fuzzHunter(f *testing.F, of func(*hunter, question) hunterCall) {
	h := NewHunter(Options{}).(*hunter)
	fuzzVendor(f, func(r reply, q question) Answer { return h.read(r, q, of(h, q)) })
}

func FuzzClearbitCombined(f *testing.F)  { fuzzClearbit(f, combinedFind) }
func FuzzClearbitPeople(f *testing.F)    { fuzzClearbit(f, peopleFind) }
func FuzzClearbitCompanies(f *testing.F) { fuzzClearbit(f, companiesFind) }

func FuzzHunterCombined(f *testing.F) {
	fuzzHunter(f, func(h *hunter, q question) hunterCall { return h.enrichment(q, combinedFind) })
}

func FuzzHunterPeople(f *testing.F) {
	fuzzHunter(f, func(h *hunter, q question) hunterCall { return h.enrichment(q, peopleFind) })
}

func FuzzHunterCompanies(f *testing.F) {
	fuzzHunter(f, func(h *hunter, q question) hunterCall { return h.enrichment(q, companiesFind) })
}

func FuzzHunterVerifier(f *testing.F) {
	fuzzHunter(f, func(h *hunter, q question) hunterCall { return h.verifier(q) })
}

func FuzzHunterFinder(f *testing.F) {
	fuzzHunter(f, func(h *hunter, q question) hunterCall {
		return h.finder(named{name: "A B", domain: "acme.example"})
	})
}

func FuzzHunterAccount(f *testing.F) {
	h := NewHunter(Options{Now: func() time.Time { return noon }}).(*hunter)
	for _, s := range append(seeds, `{"data":{"reset_date":"2026-03-20"}}`, `{"data":{"reset_date":"9999-12-31T23:59:59Z"}}`) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		until := h.resetDate(reply{status: 200, header: http.Header{}, body: body})
		if !until.IsZero() && (!until.After(noon) || until.After(noon.Add(maxQuota))) {
			t.Errorf("until %s", until)
		}
	})
}

func FuzzPDL(f *testing.F) {
	d := NewPDL(Options{}).(*pdl)
	fuzzVendor(f, d.read)
}

// By name, what the answer says of name and company is looked at too.
func FuzzPDLByName(f *testing.F) {
	d := NewPDL(Options{}).(*pdl)
	fuzzVendor(f, func(r reply, q question) Answer {
		q.lead = lead.Lead{Name: "A B", Domain: "acme.example", LinkedIn: "linkedin.com/in/ab"}
		return d.read(r, q)
	})
}

func FuzzCapitals(f *testing.F) {
	for _, s := range []string{"ann o'brien-lee", "vp of sales", "ǆ ß ŉ", "mc", "mcß", "a'", "''", "\xff", "i̇stanbul"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{capitalName(s), capitalText(s)} {
			if !lead.SameValue(lead.PersonTitle, got, s) && utf8.ValidString(s) && isASCII(s) {
				t.Errorf("%q became %q", s, got)
			}
			if s != strings.ToLower(s) && got != s {
				t.Errorf("%q, which has a capital, became %q", s, got)
			}
		}
	})
}

func isASCII(s string) bool {
	return strings.Trim(s, " !\"#$%&'()*+,-./0123456789:;<=>?@[]^_`{|}~\\abcdefghijklmnopqrstuvwxyz") == ""
}
