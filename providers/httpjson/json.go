package httpjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of a JSON document. Real answers have some hundreds of values, not
// ten levels deep; without bounds a body of two bytes a value would take twenty
// times its size in memory.
const (
	MaxDepth  = 64
	MaxValues = 20_000
)

// A Node is a value in a JSON document. What is not there, and what is of
// another type than the one asked for, is as good as null: vendors change types.
// Keys are matched exactly, not by any case as encoding/json does.
type Node struct{ V any }

// At is the value behind a path of keys.
func (n Node) At(path ...string) Node {
	for _, key := range path {
		object, _ := n.V.(map[string]any)
		n = Node{object[key]}
	}
	return n
}

// Has reports whether n is an object with one of the keys, be it null.
func (n Node) Has(keys ...string) bool {
	object, _ := n.V.(map[string]any)
	for _, key := range keys {
		if _, ok := object[key]; ok {
			return true
		}
	}
	return false
}

// IsEmpty reports whether n says nothing: null, false, "", {} or [].
func (n Node) IsEmpty() bool {
	switch v := n.V.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return strings.TrimSpace(v) == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// List is n's elements if it is an array, n itself if it is another value, and
// nothing if it is null: vendors give one error bare and several in an array.
func (n Node) List() []Node {
	switch v := n.V.(type) {
	case nil:
		return nil
	case []any:
		nodes := make([]Node, len(v))
		for i := range v {
			nodes[i] = Node{v[i]}
		}
		return nodes
	}
	return []Node{n}
}

// Number is n's value if it is a number that a float64 can hold, else 0.
func (n Node) Number() float64 {
	num, _ := n.V.(json.Number)
	f, err := num.Float64()
	if err != nil {
		return 0
	}
	return f
}

// Numeric is n's value if it is a number, or text that is one.
func (n Node) Numeric() (f float64, ok bool) {
	s, isText := n.V.(string)
	if num, isNumber := n.V.(json.Number); isNumber {
		s, isText = num.String(), true
	}
	if !isText {
		return 0, false
	}
	f, err := json.Number(strings.TrimSpace(s)).Float64()
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// Word is a text, number or truth value as it would be written in a description.
func (n Node) Word() (string, bool) {
	switch v := n.V.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// JSON reads the body as one JSON document. bad says what is wrong with it, and of
// a page that is none what it says.
func (r Reply) JSON() (doc Node, bad string) {
	doc, bad = r.Document()
	switch bad {
	case isHTML, notJSON, otherType:
		if s := snippet(r.Body); s != "" {
			bad += ` ("` + s + `")`
		}
	}
	return doc, bad
}

// What is wrong with a body that is something else than JSON.
const (
	isHTML    = "HTML instead of JSON"
	notJSON   = "not JSON"
	otherType = "wrong content type"
)

func (r Reply) Document() (doc Node, bad string) {
	if r.bad != "" {
		return Node{}, r.bad
	}
	body := bytes.TrimSpace(bytes.TrimPrefix(r.Body, []byte("\ufeff")))
	if len(body) == 0 {
		return Node{}, EmptyBody
	}
	if bad := checkType(r.Header, body); bad != "" {
		return Node{}, bad
	}
	return parse(body)
}

// EmptyBody is how an answer without a body is described; some APIs mean
// something by it.
const EmptyBody = "empty body"

// checkType finds bodies that are no JSON by what they are declared to be.
// Plain text, bytes and no declaration at all are common for JSON that a simple
// server or a proxy hands on, so that the body itself has to decide.
func checkType(h http.Header, body []byte) string {
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return "unknown compression"
	}
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	switch {
	case body[0] == '<', kind == "text/html", kind == "application/xhtml+xml":
		return isHTML
	case kind == "", kind == "text/plain", kind == "application/octet-stream", kind == "text/json",
		kind == "application/json", strings.HasSuffix(kind, "+json"), kind == "application/javascript":
		return ""
	}
	return otherType
}

// parse builds the tree of a document, within bounds.
func parse(body []byte) (doc Node, bad string) {
	if !utf8.Valid(body) {
		return Node{}, "invalid UTF-8"
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	t := tree{tokens: d}
	v, err := t.value(0)
	if err != nil {
		return Node{}, badJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Node{}, "more after the JSON"
	}
	return Node{v}, ""
}

func badJSON(err error) string {
	var b boundError
	switch {
	case errors.As(err, &b):
		return string(b)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "truncated JSON"
	}
	return notJSON
}

// A boundError is a document that is JSON but not one that is read.
type boundError string

func (b boundError) Error() string { return string(b) }

type tree struct {
	tokens *json.Decoder
	values int
}

// value reads the next value, depth levels below the top.
func (t *tree) value(depth int) (any, error) {
	tok, err := t.tokens.Token()
	if err != nil {
		return nil, err
	}
	if t.values++; t.values > MaxValues {
		return nil, boundError("too many values in the JSON")
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return tok, nil
	}
	if depth >= MaxDepth {
		return nil, boundError("JSON nested too deeply")
	}
	if delim == '[' {
		return t.array(depth)
	}
	return t.object(depth)
}

func (t *tree) array(depth int) (any, error) {
	list := []any{}
	for t.tokens.More() {
		v, err := t.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := t.tokens.Token() // the bracket that More saw
	return list, err
}

func (t *tree) object(depth int) (any, error) {
	object := map[string]any{}
	for t.tokens.More() {
		tok, err := t.tokens.Token()
		if err != nil {
			return nil, err
		}
		key, _ := tok.(string) // the decoder lets nothing else stand here
		if _, twice := object[key]; twice {
			return nil, boundError("a key stands twice in the JSON")
		}
		if object[key], err = t.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := t.tokens.Token() // the brace that More saw
	return object, err
}
