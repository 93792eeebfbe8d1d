// Package answertest has bodies to fuzz the readers of answers with, and what holds for every
// answer to anything.
package answertest

import (
	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var Seeds = []string{
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

// CheckAnswer holds for every answer to anything.
func CheckAnswer(t *testing.T, a providers.Answer) {
	t.Helper()
	if !slices.Contains(lead.Classes, a.Class) {
		t.Errorf("class %q", a.Class)
	}
	if a.Class.HasData() != (len(a.Profile) > 0) || !a.Class.HasData() && a.Detail == "" {
		t.Errorf("class %s with the detail %q and the profile %v", a.Class, a.Detail, a.Profile)
	}
	// The only thing in quotation marks is the snippet of a page, of known words.
	words := pageQuote.ReplaceAllString(a.Detail, "")
	if strings.ContainsAny(words, "@<>{}\"") {
		t.Errorf("the detail %q quotes the answer", a.Detail)
	}
	if a.Confidence < 0 || a.Confidence > 1 {
		t.Errorf("confidence %g", a.Confidence)
	}
	if a.Wait < 0 || a.Wait > httpjson.MaxWait {
		t.Errorf("wait %s", a.Wait)
	}
	for field, v := range a.Profile {
		if _, err := lead.ParseField(string(field)); err != nil || v == "" || len(v) > lead.MaxFieldLength+20 {
			t.Errorf("field %s is %q", field, v)
		}
	}
}

var pageQuote = regexp.MustCompile(` \("[^"]*"\)`)
