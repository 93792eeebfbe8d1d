package described

import (
	"net/textproto"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// requestKeys are the keys of request and of poll.
var requestKeys = []string{"method", "path", "query", "headers", "json", "form"}

func (d *Description) readRequest(s spot) {
	m := s.mapping(append(requestKeys, "auth", "idempotency_header")...)
	d.request = readOneRequest(m, "POST", d.needs)
	if a, ok := m.want("auth", "write bearer, basic, {header: NAME}, {query: NAME} or none"); ok {
		d.auth = readAuth(a)
	}
	if i, ok := m.get("idempotency_header"); ok {
		if name, ok := i.text(); ok && !isHeaderName(name) {
			i.fail("is no name of a header")
		} else if ok {
			d.request.idempotency = name
		}
	}
}

func (d *Description) readPoll(s spot) {
	m := s.mapping(append(requestKeys, "ticket")...)
	d.poll = &describedPoll{describedRequest: readOneRequest(m, "GET", append([]needSet{{ticketWord}}, d.needs...))}
	if t, ok := m.want("ticket", "give the path to it in the first answer, such as request_id"); ok {
		d.poll.ticket = readPaths(t)
	}
	if !slices.Contains(d.poll.names(), ticketWord) && m.node.Kind == yaml.MappingNode {
		s.fail("never uses {ticket}: put it where the API expects it, such as path: /v1/results/{ticket}")
	}
}

// readOneRequest reads what request and poll have in common. Its placeholders
// must be in one of the sets.
func readOneRequest(m mapping, usual string, sets []needSet) describedRequest {
	q := describedRequest{method: usual}
	if s, ok := m.get("method"); ok {
		if word, ok := s.text(); ok && word != "GET" && word != "POST" {
			s.fail("must be GET or POST")
		} else if ok {
			q.method = word
		}
	}
	if s, ok := m.want("path", "write it from the slash on, such as /v1/person"); ok {
		q.path = readURLPath(s, sets)
	}
	q.query = readPairs(m, "query", sets)
	q.headers = readPairs(m, "headers", sets)
	for _, p := range q.headers {
		h, _ := m.get("headers")
		checkHeader(h.mapping(), p)
	}
	q.form = readPairs(m, "form", sets)
	s, hasJSON := m.get("json")
	if hasJSON {
		part := readBody(s, sets)
		q.json = &part
		if q.form != nil {
			s.fail("stands beside form: a request has one body")
		}
	}
	if f, hasForm := m.get("form"); q.method == "GET" && (hasForm || hasJSON) {
		if hasJSON {
			f = s
		}
		f.fail("a GET request has no body: use query, or method: POST")
	}
	return q
}

func readURLPath(s spot, sets []needSet) template {
	text, ok := s.text()
	if !ok {
		return nil
	}
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, "?# ") {
		s.fail("must begin with a slash and have no query, fragment or blank: parameters go under query")
	}
	t := readTemplate(s, text, sets)
	for _, name := range t.names() {
		for _, set := range sets {
			if name != ticketWord && !set.has(name) && !set.has(ticketWord) {
				s.fail("{%s} would be blank when the lead is asked about by %s: a path needs a value that every set of needs has", name, set)
			}
		}
	}
	return t
}

// readTemplate reads a text in which only the sets' words may stand.
func readTemplate(s spot, text string, sets []needSet) template {
	t, wrong := parseTemplate(text)
	if wrong != "" {
		s.fail("%s", wrong)
	}
	for _, name := range t.names() {
		switch {
		case slices.ContainsFunc(sets, func(set needSet) bool { return set.has(name) }):
		case name == ticketWord:
			s.fail("only poll has a {ticket}")
		default:
			s.fail("{%s} is never filled: no set of needs has it", name)
		}
	}
	return t
}

func readPairs(m mapping, key string, sets []needSet) []pair {
	s, ok := m.get(key)
	if !ok {
		return nil
	}
	pairs := []pair{}
	for _, e := range s.mapping().entries {
		text, ok := e.scalar()
		if !ok {
			continue
		}
		t := readTemplate(e.spot, text, sets)
		if isSecretName(e.name) && len(t.names()) == 0 || isSecretValue(text) {
			e.fail(noSecrets)
		}
		pairs = append(pairs, pair{e.name, t})
	}
	return pairs
}

func readBody(s spot, sets []needSet) bodyPart {
	b := bodyPart{kind: s.node.Kind}
	switch s.node.Kind {
	case yaml.MappingNode:
		for _, e := range s.mapping().entries {
			if e.node.Kind == yaml.ScalarNode && (isSecretName(e.name) && !strings.Contains(e.node.Value, "{") || isSecretValue(e.node.Value)) {
				e.fail(noSecrets)
			}
			b.keys = append(b.keys, e.name)
			b.parts = append(b.parts, readBody(e.spot, sets))
		}
	case yaml.SequenceNode:
		for _, item := range s.list() {
			b.parts = append(b.parts, readBody(item, sets))
		}
	default:
		switch s.node.ShortTag() {
		case "!!str":
			b.text = readTemplate(s, s.node.Value, sets)
			if b.text == nil {
				b.value = ""
			}
		case "!!null":
		case "!!bool":
			b.value, _ = s.truth()
		default:
			b.value, _ = s.number()
		}
	}
	return b
}

func readAuth(s spot) describedAuth {
	for _, kind := range []string{"bearer", "basic", "none"} {
		if s.isText(kind) {
			return describedAuth{kind: kind}
		}
	}
	for _, kind := range []string{"header", "query"} {
		if s.node.Kind != yaml.MappingNode || len(s.node.Content) != 2 || s.node.Content[0].Value != kind {
			continue
		}
		at, _ := s.mapping().get(kind)
		name, ok := at.text()
		if ok && !isHeaderName(name) {
			at.fail("is no name of a header or parameter: the key itself never stands in a description")
		}
		return describedAuth{kind, name}
	}
	s.fail("must be bearer, basic, {header: NAME}, {query: NAME} or none; the key itself comes from key_env")
	return describedAuth{}
}

const noSecrets = "may be a secret: leave it out. The API key goes where request.auth says, and comes from the environment"

// isSecretName reports whether what has this name is usually secret.
func isSecretName(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	return slices.ContainsFunc(words, func(w string) bool {
		switch w {
		case "authorization", "auth", "token", "secret", "password", "key", "apikey", "accesstoken", "cookie", "credentials":
			return true
		}
		return false
	})
}

func isSecretValue(value string) bool {
	v := strings.ToLower(value)
	return strings.HasPrefix(v, "bearer ") || strings.HasPrefix(v, "basic ")
}

// madeHeaders are set by the request itself.
var madeHeaders = []string{"Host", "Content-Length", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Connection", "User-Agent", "Accept-Encoding"}

func checkHeader(m mapping, p pair) {
	at, _ := m.get(p.name)
	if !isHeaderName(p.name) {
		at.fail("is no name of a header")
	}
	if slices.Contains(madeHeaders, textproto.CanonicalMIMEHeaderKey(p.name)) {
		at.fail("is set by the request itself: leave it out")
	}
	for _, part := range p.value {
		if strings.ContainsFunc(part.text, func(r rune) bool { return r < ' ' || r > '~' }) {
			at.fail("has a character that no header can carry")
		}
	}
}

func isHeaderName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
