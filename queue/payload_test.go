package queue_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"backstop/lead"
	"backstop/queue"
	"backstop/testkit"
)

func TestPayloadIsTheDocumentedJSON(t *testing.T) {
	p := queue.Payload{
		LeadID: "ld_abc", RequestID: "req_1", Generation: 2,
		Lead: lead.Lead{Source: "crm", SourceID: "7", Email: "zoë@example.com", Company: "R&D <Labs>"},
	}
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"lead_id":"ld_abc","request_id":"req_1","generation":2,` +
		`"lead":{"source":"crm","source_id":"7","email":"zoë@example.com","company":"R&D <Labs>"}}`
	testkit.Equal(t, "payload", string(b), want)
}

func TestTaskIDsNameLeadAndRun(t *testing.T) {
	testkit.Equal(t, "enrichment", queue.EnrichID("ld_abc", 2), "enrich:ld_abc:2")
	testkit.Equal(t, "fallback", queue.FallbackID("ld_abc", 2), "fallback:ld_abc:2")
}

// asynqmon v0.7.2 shows "non-printable bytes" for a payload with a character that
// is not printable (conversion_helpers.go, isPrintable).
func checkPrintable(tb testing.TB, b []byte) {
	if !utf8.Valid(b) || strings.ContainsFunc(string(b), func(r rune) bool { return !unicode.IsPrint(r) }) {
		tb.Errorf("payload is not printable: %q", b)
	}
}

func TestPayloadOfAnyLeadIsPrintableAndComesBack(t *testing.T) {
	anyText := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\n\t\"\\<&\u00ad\u200e\u202b\u2028\U000e0001\U0010fffd"))))
	rapid.Check(t, func(rt *rapid.T) {
		p := queue.Payload{
			LeadID: "ld_abc", RequestID: "req_1", Generation: rapid.IntRange(1, 1000).Draw(rt, "generation"),
			Lead: lead.Lead{Name: anyText.Draw(rt, "name"), Company: anyText.Draw(rt, "company")},
		}
		b, err := p.Encode()
		if err != nil {
			rt.Fatal(err)
		}
		if checkPrintable(t, b); t.Failed() {
			rt.FailNow()
		}
		back, err := queue.DecodePayload(b)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(p, back); diff != "" {
			rt.Fatalf("-encoded +decoded:\n%s", diff)
		}
	})
}

func FuzzDecodePayload(f *testing.F) {
	for _, s := range []string{
		"", "{}", "null", "[]", `{"lead_id":"ld_abc","request_id":"r","generation":1,"lead":{"email":"a@b.example"}}`,
		`{"lead_id":"ld_abc","generation":1}`, `{"lead_id":"ld_abc","generation":0}`, `{"lead_id":"","generation":1}`,
		`{"lead_id":"ld_abc","generation":1e9}`, `{"lead_id":"ld_abc","generation":1} x`, `{"lead_id":7}`,
		"{\"lead_id\":\"\\ud800\xff\",\"generation\":1}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := queue.DecodePayload(b)
		if err != nil {
			if len(b) > 20 && bytes.Contains([]byte(err.Error()), b) {
				t.Errorf("the error quotes the payload: %v", err)
			}
			return
		}
		if p.LeadID == "" || p.Generation < 1 {
			t.Errorf("accepted %+v", p)
		}
		again, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		checkPrintable(t, again)
		if back, err := queue.DecodePayload(again); err != nil || back != p {
			t.Errorf("%+v came back as %+v, %v", p, back, err)
		}
	})
}
