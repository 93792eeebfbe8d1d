package intake

import (
	"strings"
	"testing"
	"testing/iotest"
)

func TestJSONIsReadAsLinesOrAsOneArray(t *testing.T) {
	mega := strings.Repeat("x", 1<<20)
	const a, b = `{"email":"a@x.example"}`, `{"email":"b@x.example"}`
	const bad, open, cutOff = "reject : is not valid JSON", "reject : has a text that is not closed", "reject : the array is not closed: the file is cut off"
	tests := []struct{ name, text, want string }{
		{"an object a line", a + "\n" + b + "\n", "1 a@x.example\n2 b@x.example"},
		{"blank lines and CRLF", "\r\n" + a + "\r\n \r\n" + b, "2 a@x.example\n4 b@x.example"},
		{"a byte order mark", "\ufeff" + a, "1 a@x.example"},
		{"a line that is not JSON", a + "\n{\"email\":\n" + b, "1 a@x.example\n2 " + bad + "\n3 b@x.example"},
		{"two objects on a line", a + b + "\n" + b, "1 " + bad + "\n2 b@x.example"},
		{"a line that is no object", a + "\n42\n" + b, "1 a@x.example\n2 reject : is not a JSON object\n3 b@x.example"},
		{"a line that is too long", a + "\n{\"note\":\"" + mega + "\"}\n" + b, "1 a@x.example\n2 reject : is longer than 256 KiB\n3 b@x.example"},
		{"an empty object", "{}\n{\"email\":null}\n{\"x\":\" \"}", "1 skip: empty row\n2 skip: empty row\n3 skip: empty row"},
		{"an array on one line", "[" + a + "," + b + "]", "1 a@x.example\n1 b@x.example"},
		{"an array in lines", "[\n" + a + ",\n" + b + "\n]\n", "2 a@x.example\n3 b@x.example"},
		{"a pretty-printed array", "[\n  {\n    \"email\": \"a@x.example\",\n    \"company\": {\n      \"name\": \"X\"\n    }\n  },\n  {\n    \"email\": \"b@x.example\"\n  }\n]", "2 a@x.example\n8 b@x.example"},
		{"an empty array", "[]", ""},
		{"brackets inside text", `[{"email":"a@x.example","note":"} ] \" {"},` + b + `]`, "1 a@x.example\n1 b@x.example"},
		{"an element that is no object", "[" + a + ", 42, \"x\", [1], null, " + b + "]", "1 a@x.example" + strings.Repeat("\n1 reject : is not a JSON object", 4) + "\n1 b@x.example"},
		{"a bad element", "[" + a + ",\n{\"email\" \"x\"},\n" + b + "]", "1 a@x.example\n2 " + bad + "\n3 b@x.example"},
		{"a text that is not closed", "[" + a + ",\n{\"email\":\"x},\n" + b + "\n]", "1 a@x.example\n2 " + open + "\n3 b@x.example"},
		{"an element that is too long", "[" + a + ",\n{\"note\":\"" + mega + "\"},\n" + b + "\n]", "1 a@x.example\n2 reject : is longer than 256 KiB\n3 b@x.example"},
		{"a broken last element", "[" + a + ",\n{\"email\":\"x}\n]", "1 a@x.example\n2 " + open},
		{"an array that is cut off between elements", "[" + a + ",\n", "1 a@x.example\n2 " + cutOff},
		{"an array that is cut off inside one", "[" + a + ",\n{\"ema", "1 a@x.example\n2 reject : is not closed\n2 " + cutOff},
		{"two arrays", "[" + a + "]\n[" + b + "]", "1 a@x.example\n2 b@x.example"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, rows := readAll(t, "x.jsonl", tt.text, Options{})
			checkRows(t, rows, tt.want)
		})
		if len(tt.text) > 1<<16 {
			continue
		}
		t.Run(tt.name+", a byte at a time", func(t *testing.T) {
			r, err := Read(iotest.OneByteReader(strings.NewReader(tt.text)), "x.jsonl", Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkRows(t, rowsOf(t, r), tt.want)
		})
	}
}

func TestAnObjectIsUnderstoodInTheShapesInUse(t *testing.T) {
	tests := []struct{ name, object, want string }{
		{"our names", `{"source_id":"7","email":"a@x.example","given_name":"Ann","company":"X","domain":"x.example"}`, "7|a@x.example|Ann|X|x.example"},
		{"a number as ID", `{"id":900719925474099301,"email":"a@x.example"}`, "900719925474099301|a@x.example|||"},
		{"a CRM's names", `{"Record ID":7,"Email Address":"a@x.example","First Name":"Ann","Company / Account":"X"}`, "7|a@x.example|Ann|X|"},
		{"person and company", `{"person":{"email":"a@x.example","given_name":"Ann"},"company":{"name":"X","domain":"x.example"}}`, "|a@x.example|Ann|X|x.example"},
		{"a profile around them", `{"profile":{"person":{"email":"a@x.example"},"company":{"name":"X"}}}`, "|a@x.example||X|"},
		{"properties around them", `{"id":"7","properties":{"email":"a@x.example","firstname":"Ann","website":"https://x.example/"}}`, "7|a@x.example|Ann||x.example"},
		{"an unknown list", `{"email":"a@x.example","tags":["a","b"],"extra":{"email":"no@x.example"}}`, "|a@x.example|||"},
		{"null", `{"email":"a@x.example","company":null}`, "|a@x.example|||"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, rows := readAll(t, "x.jsonl", tt.object, Options{})
			l := rows[0].Lead
			if got := strings.Join([]string{l.SourceID, l.Email, l.GivenName, l.Company, l.Domain}, "|"); got != tt.want {
				t.Errorf("got %s, want %s (%v)", got, tt.want, rows[0].Reject)
			}
		})
	}
	for object, field := range map[string]string{
		`{"email":["a@x.example"]}`: "email", `{"email":"a@x.example","name":{"full":"Ann"}}`: "name",
		`{"email":"a@x.example","title":true}`: "title", `{"email":"a@x.example","company":["X"]}`: "company",
	} {
		t.Run("a wrong type for "+field, func(t *testing.T) {
			_, rows := readAll(t, "x.jsonl", object, Options{})
			if rej := rows[0].Reject; rej == nil || rej.Field != field || rej.Raw[0] != object {
				t.Errorf("reject %+v", rej)
			}
		})
	}
}

func TestAFileIsKnownByItsBeginningThenByItsName(t *testing.T) {
	for _, tt := range []struct {
		name, head string
		want       Format
	}{
		{"x.csv", "email,name", FormatCSV},
		{"x.csv", `{"email":1}`, FormatJSONL},
		{"-", "\ufeff [ {", FormatJSONL},
		{"-", "[email]", FormatCSV},
		{"x.ndjson", "", FormatJSONL},
		{"x.JSON", "what", FormatJSONL},
		{"x", "", FormatCSV},
	} {
		if got := FormatOf(tt.name, []byte(tt.head)); got != tt.want {
			t.Errorf("%s beginning %q is %s, want %s", tt.name, tt.head, got, tt.want)
		}
	}
}
