package providers

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"backstop/lead"
)

var seeds = []string{
	``, `{}`, `[]`, `null`, `"x"`, `1e999`, `{"person":null,"company":null}`, `{"error":{"type":"queued"}}`,
	`{"error":[{"type":"unknown_record"}]}`, `{"errors":{"id":"claimed_email","code":451}}`,
	`{"person":{"name":{"fullName":"A B"},"email":"a.b@acme.example","indexedAt":"2025-03-01T00:00:00Z"},"company":{"name":"Acme","metrics":{"employees":1e400}}}`,
	`{"data":{"person":{"name":5,"geo":[]},"company":{"metrics":{"employees":"51-250"}}},"meta":{}}`,
	`{"data":{"status":"valid","email":"a.b@acme.example"}}`, `{"a":1,"a":2}`, `{"a":1} {"b"`, "<html>", "{\"a\":\"\xff\"}", `{"a":"\u0000\ud800"}`,
	strings.Repeat("[", 100), "\ufeff{}",
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
	if strings.ContainsAny(a.Detail, "@<>{}\"") {
		t.Errorf("the detail %q quotes the answer", a.Detail)
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

func FuzzClearbit(f *testing.F) {
	c := NewClearbit(Options{}).(*clearbit)
	fuzzVendor(f, c.read)
}

func FuzzHunterCombined(f *testing.F) {
	h := NewHunter(Options{}).(*hunter)
	fuzzVendor(f, func(r reply, q question) Answer { return h.read(r, q, h.found) })
}

func FuzzHunterVerifier(f *testing.F) {
	h := NewHunter(Options{}).(*hunter)
	fuzzVendor(f, func(r reply, q question) Answer { return h.read(r, q, h.verified) })
}
