package described

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"backstop/lead"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
	"backstop/testkit/answertest"
)

// FuzzParseDescription: whatever is read can be asked, and whatever is not says
// where and why.
func FuzzParseDescription(f *testing.F) {
	files, err := filepath.Glob("descriptions/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, s := range []string{"", "name: x", "a: &a [*a]", "{", "- 1", "name: {x: y}", "answers: [[]]", "request: {json: [{}, null, 1e400, .nan]}",
		"fields: {person.name: [[a]]}", "? [a]\n: b", "limits: [{rate: 1e9, per: -1s}]", "needs: [[]]", "poll: 1", "---\n---\n", "\t"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ParseDescription("x.yaml", text)
		if err != nil {
			joined, ok := err.(interface{ Unwrap() []error })
			if !ok || len(joined.Unwrap()) == 0 {
				t.Fatalf("error is %v", err)
			}
			for _, e := range joined.Unwrap() {
				if e := e.(*DescriptionError); e.Line < 1 || e.What == "" || strings.Contains(e.What, "%!") {
					t.Errorf("one of the errors is %+v", e)
				}
			}
			return
		}
		l := lead.Lead{Email: "a.b@acme.example", Name: "A B", GivenName: "A", FamilyName: "B", Company: "Acme", LinkedIn: "linkedin.com/in/ab", Phone: "+1"}
		p, err := d.New(d.Name, httpjson.Options{APIKey: "k"})
		if err != nil {
			t.Fatalf("what was read makes no provider: %v", err)
		}
		calls, why := p.Plan(l, lead.Fields)
		if len(calls) == 0 && why == "" || len(calls) == 1 && calls[0].Endpoint == "" && strings.Trim(d.endpoint(), "/") != "" {
			t.Fatalf("plan is %v, %q", calls, why)
		}
		q := profile.Question{Lead: l, Missing: lead.Fields}
		set := d.needs[0]
		for _, body := range answertest.Seeds {
			a, _ := p.(*described).read(httpjson.Reply{Status: 200, Header: http.Header{}, Body: []byte(body)}, inquiry{q, set, wordsOf(q)})
			answertest.CheckAnswer(t, a)
		}
	})
}

// FuzzDescribed: whatever an API sends, the answer of a shipped description has
// the form of one.
func FuzzDescribed(f *testing.F) {
	bodies := append([]string{
		`{"person":{"name":"A B","email":"a.b@acme.example","organization":{"name":"Acme","estimated_num_employees":1e400}}}`,
		`{"person":{"match_confidence":"none"}}`, `{"fullName":"A B","details":{"employment":[{"current":true,"title":"CTO"},7]},"updated":"1970-01-01"}`,
		`{"message":"quota"}`, `{"email_deliverability":{"status":"deliverable"},"email_quality":{"is_catchall":true}}`,
		`{"request_id":"abc","success":true}`, `{"success":false,"reason":"not ready"}`, `{"data":[{"job":"CTO","email":[{"email":"x@y.example"},null,"z"]}]}`,
		`{"status":"catch-all","sub_status":"","processed_at":"2025-01-01 00:00:00.5"}`, `{"error":"credits"}`,
	}, answertest.Seeds...)
	for _, name := range Shipped() {
		for _, s := range bodies {
			for _, status := range []int{200, 202, 403, 404, 422, 500} {
				f.Add(name, status, "application/json", "5", []byte(s), true)
			}
		}
	}
	f.Fuzz(func(t *testing.T, name string, status int, kind, after string, body []byte, byAddress bool) {
		desc, ok := ByName(name)
		if !ok {
			return
		}
		p, err := desc.New(name, httpjson.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := p.(*described)
		q := profile.Question{Lead: lead.Lead{Email: "a.b@acme.example"}, Missing: lead.Fields}
		if !byAddress {
			q.Lead = lead.Lead{Name: "A B", Company: "Acme"}
		}
		set, why := d.choose(wordsOf(q), q.Missing)
		if why != "" {
			return
		}
		status = 100 + (status%900+900)%900
		r := httpjson.Reply{Status: status, Header: http.Header{"Content-Type": {kind}, "Retry-After": {after}}, Body: body}
		a, doc := d.read(r, inquiry{q, set, wordsOf(q)})
		answertest.CheckAnswer(t, a)
		if a.Status != status || a.Class.HasData() && status != 200 {
			t.Errorf("%s: status %d of %d with %s", name, a.Status, status, a.Class)
		}
		if a.Confidence < 0 || a.Confidence > 1 {
			t.Errorf("%s: confidence %g", name, a.Confidence)
		}
		if d.poll != nil {
			if ticket := ticketAt(d.poll.ticket, doc); len(ticket) > maxTicket || strings.ContainsAny(ticket, "\r\n\x00") {
				t.Errorf("the ticket is %q", ticket)
			}
		}
	})
}
