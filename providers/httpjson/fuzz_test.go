package httpjson

import (
	"encoding/json"
	"strings"
	"testing"
)

// Not answertest.Seeds, which imports this package.
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
		again, err := json.Marshal(doc.V)
		if err != nil {
			t.Fatalf("what was read of %q cannot be written: %v", body, err)
		}
		if _, bad := parse(again); bad != "" {
			t.Errorf("%q: what was read is %s when written", body, bad)
		}
	})
}
