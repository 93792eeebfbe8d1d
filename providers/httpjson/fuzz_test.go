package httpjson_test

import (
	"encoding/json"
	"testing"

	"backstop/providers/httpjson"
	"backstop/testkit/answertest"
)

// What is read is JSON in the eyes of encoding/json too, and means the same.
func FuzzParse(f *testing.F) {
	for _, s := range answertest.Seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		doc, bad := httpjson.Parse(body)
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
		if _, bad := httpjson.Parse(again); bad != "" {
			t.Errorf("%q: what was read is %s when written", body, bad)
		}
	})
}
