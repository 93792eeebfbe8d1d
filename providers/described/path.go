package described

import (
	"backstop/providers/httpjson"
	"strconv"
	"strings"
	"unicode"
)

// A jsonPath leads from a document to values in it: "data[0].email[*].value".
type jsonPath []step

// A step goes from values to values below them.
type step struct {
	kind  stepKind
	key   string // of an object; in a where, of the elements
	index int
	value string // of a where
}

type stepKind int

const (
	stepKey   stepKind = iota // .key
	stepIndex                 // [0]
	stepAll                   // [*]
	stepWhere                 // [?key=value]
)

// parsePath reads a path; wrong says what is wrong with it and the cure.
func parsePath(s string) (p jsonPath, wrong string) {
	const form = "write it like company.name, data[0].name, data[*].name or data[?type=work].name"
	rest, first := s, true
	for rest != "" {
		inner, after, closed := strings.Cut(strings.TrimPrefix(rest, "["), "]")
		switch {
		case rest[0] == '[' && !closed:
			return nil, "a bracket is not closed: " + form
		case rest[0] == '[':
			st, ok := bracket(inner)
			if !ok {
				return nil, "the brackets must hold a number, * or ?key=value: " + form
			}
			p, rest = append(p, st), after
		case rest[0] == '.' && !first, first:
			name := rest
			if !first {
				name = rest[1:]
			}
			end := strings.IndexAny(name, ".[")
			if end < 0 {
				end = len(name)
			}
			if !isKey(name[:end]) {
				return nil, "a key is empty or has a blank or a bracket in it: " + form
			}
			p, rest = append(p, step{kind: stepKey, key: name[:end]}), name[end:]
		default:
			return nil, "a dot is missing behind a bracket: " + form
		}
		first = false
	}
	if len(p) == 0 || len(p) > httpjson.MaxDepth {
		return nil, "is no path: " + form
	}
	return p, ""
}

func bracket(inner string) (step, bool) {
	if inner == "*" {
		return step{kind: stepAll}, true
	}
	if condition, ok := strings.CutPrefix(inner, "?"); ok {
		key, value, found := strings.Cut(condition, "=")
		return step{kind: stepWhere, key: key, value: value}, found && isKey(key) && value != ""
	}
	n, err := strconv.ParseUint(inner, 10, 31) // digits only
	return step{kind: stepIndex, index: int(n)}, err == nil && n < httpjson.MaxValues
}

func isKey(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("[]{}", r)
	})
}

// find lists the values at the path in the order of the document. What is null is
// there; what is missing is not.
func (p jsonPath) find(doc httpjson.Node) []httpjson.Node {
	found := []httpjson.Node{doc}
	for _, st := range p {
		var next []httpjson.Node
		for _, n := range found {
			next = st.from(n, next)
		}
		found = next
	}
	return found
}

// from adds to found what the step leads to from n.
func (st step) from(n httpjson.Node, found []httpjson.Node) []httpjson.Node {
	list, _ := n.V.([]any)
	switch st.kind {
	case stepKey:
		object, _ := n.V.(map[string]any)
		if v, ok := object[st.key]; ok {
			found = append(found, httpjson.Node{V: v})
		}
	case stepIndex:
		if st.index < len(list) {
			found = append(found, httpjson.Node{V: list[st.index]})
		}
	case stepAll:
		for _, v := range list {
			found = append(found, httpjson.Node{V: v})
		}
	case stepWhere:
		for _, v := range list {
			if word, ok := (httpjson.Node{V: v}).At(st.key).Word(); ok && word == st.value {
				found = append(found, httpjson.Node{V: v})
			}
		}
	}
	return found
}
