package described

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
)

// A describedRequest is how one request of a described provider is made of a
// lead's values.
type describedRequest struct {
	method      string
	path        template
	query       []pair
	headers     []pair
	form        []pair    // with a POST, instead of json
	json        *bodyPart // with a POST
	idempotency string    // the header for it; "": the API knows none
}

// A pair is a name and the template of its value.
type pair struct {
	name  string
	value template
}

// Why no request can be made of a lead's values.
const (
	unfitForPath   = "a value that cannot stand in a path"
	unfitForHeader = "a value that no header can carry"
)

// make makes the request. unfit says why none can be made of these words.
func (d *describedRequest) make(words map[string]string) (q httpjson.Request, unfit string) {
	for _, name := range d.path.names() {
		if w := words[name]; w == "" || strings.Trim(w, ".") == "" {
			return httpjson.Request{}, unfitForPath
		}
	}
	q = httpjson.Request{Method: d.method, Query: url.Values{}, Header: http.Header{}}
	q.Path, _ = d.path.fill(words, url.PathEscape)
	fillPairs(d.query, words, q.Query.Set)
	fillPairs(d.headers, words, q.Header.Set)
	for _, values := range q.Header {
		if strings.ContainsFunc(values[0], func(r rune) bool { return r < ' ' || r > '~' }) {
			return httpjson.Request{}, unfitForHeader
		}
	}
	switch {
	case d.form != nil:
		form := url.Values{}
		fillPairs(d.form, words, form.Set)
		q.Body = []byte(form.Encode())
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	case d.json != nil:
		v, _ := d.json.fill(words)
		body, err := json.Marshal(v)
		if err != nil {
			panic("described provider: " + err.Error()) // made of maps, lists, texts and finite numbers
		}
		q.Body = body
		q.Header.Set("Content-Type", "application/json")
	}
	return q, ""
}

// fillPairs sets every pair that is not left blank by its placeholders.
func fillPairs(pairs []pair, words map[string]string, set func(name, value string)) {
	for _, p := range pairs {
		if v, blank := p.value.fill(words, asIs); !blank {
			set(p.name, v)
		}
	}
}

// A bodyPart is a part of a JSON body: an object, a list, a template or a value.
type bodyPart struct {
	kind  yaml.Kind
	keys  []string // of an object
	parts []bodyPart
	text  template
	value any // a number, a truth value or null, where text is nil
}

// fill is the value, or blank when it has placeholders and a word for none of
// them. What is blank is left out, and so is what only held blanks.
func (b bodyPart) fill(words map[string]string) (v any, blank bool) {
	switch b.kind {
	case yaml.MappingNode:
		object := map[string]any{}
		for i, part := range b.parts {
			if v, blank := part.fill(words); !blank {
				object[b.keys[i]] = v
			}
		}
		return object, len(b.parts) > 0 && len(object) == 0
	case yaml.SequenceNode:
		list := []any{}
		for _, part := range b.parts {
			if v, blank := part.fill(words); !blank {
				list = append(list, v)
			}
		}
		return list, len(b.parts) > 0 && len(list) == 0
	}
	if b.text != nil {
		return b.text.fill(words, asIs)
	}
	return b.value, false
}

// names lists the placeholders in the part.
func (b bodyPart) names() []string {
	names := b.text.names()
	for _, part := range b.parts {
		names = append(names, part.names()...)
	}
	return names
}

// names lists the placeholders in the request.
func (d *describedRequest) names() []string {
	names := d.path.names()
	for _, pairs := range [][]pair{d.query, d.headers, d.form} {
		for _, p := range pairs {
			names = append(names, p.value.names()...)
		}
	}
	if d.json != nil {
		names = append(names, d.json.names()...)
	}
	return names
}

// A describedAuth is where the key goes.
type describedAuth struct {
	kind string // "header", "query", "bearer", "basic", "none"
	name string // of the header or the parameter
}

func (a describedAuth) sign(q httpjson.Request, key string) {
	if key == "" {
		return
	}
	switch a.kind {
	case "header":
		q.Header.Set(a.name, key)
	case "query":
		q.Query.Set(a.name, key)
	case "bearer":
		q.Header.Set("Authorization", "Bearer "+key)
	case "basic":
		q.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(key+":")))
	}
}

// unasked is the Answer where no request could be made.
func unasked(why string) *providers.Answer {
	return &providers.Answer{Class: lead.ClassInvalidInput, Detail: why}
}
