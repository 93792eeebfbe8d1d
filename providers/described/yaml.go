package described

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A DescriptionError is one thing that is wrong with the description of a provider.
// It never quotes a value that may be a secret.
type DescriptionError struct {
	File string
	Line int    // from 1
	Key  string // "answers[2].class"; "" for the file as a whole
	What string // what is wrong, and what to do
}

func (e *DescriptionError) Error() string {
	key := e.Key
	if key != "" {
		key += ": "
	}
	return fmt.Sprintf("%s:%d: %s%s", e.File, e.Line, key, e.What)
}

// The bounds of a description. The longest shipped one has some thousand bytes, and
// no list of more than twenty.
const (
	maxDescription = 64 << 10
	maxEntries     = 200 // of one list or mapping
)

// A problemList collects everything that is wrong with one file.
type problemList struct {
	file string
	all  []*DescriptionError
}

func (p *problemList) add(line int, key, format string, args ...any) {
	p.all = append(p.all, &DescriptionError{p.file, line, key, fmt.Sprintf(format, args...)})
}

// err joins the problems in the order of their lines; nil without any.
func (p *problemList) err() error {
	slices.SortStableFunc(p.all, func(a, b *DescriptionError) int { return a.Line - b.Line })
	errs := make([]error, len(p.all))
	for i, e := range p.all {
		errs[i] = e
	}
	return errors.Join(errs...)
}

// A spot is a value in a description, and where it stands.
type spot struct {
	node     *yaml.Node
	key      string
	problems *problemList
}

func (s spot) fail(format string, args ...any) {
	s.problems.add(s.node.Line, s.key, format, args...)
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// readDescription reads the text as one YAML document without anchors, whose top
// is a mapping.
func readDescription(text []byte, problems *problemList) (top spot, ok bool) {
	if len(text) > maxDescription {
		problems.add(1, "", "is longer than %d bytes: a description is short", maxDescription)
		return spot{}, false
	}
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	err := d.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		problems.add(1, "", "is empty: begin with name, base_url, request, answers and fields")
	case err != nil:
		line := 1
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			line, _ = strconv.Atoi(m[1]) // digits only, and few
		}
		problems.add(max(line, 1), "", "is not YAML: look at the indentation, quotes and brackets here")
	case !errors.Is(d.Decode(&more), io.EOF):
		problems.add(1, "", "has more than one document: keep one description in a file")
	default:
		top := spot{doc.Content[0], "", problems}
		return top, top.isPlain()
	}
	return spot{}, false
}

// isPlain reports whether nothing below s is a list or mapping beyond the bounds,
// or an anchor or an alias, through which a short text could stand for an endless
// one.
func (s spot) isPlain() bool {
	if s.node.Kind == yaml.AliasNode || s.node.Anchor != "" {
		s.fail("has an anchor or an alias: write the value out")
		return false
	}
	if n := len(s.node.Content); n > 2*maxEntries || n > maxEntries && s.node.Kind != yaml.MappingNode {
		s.fail("has more than %d entries", maxEntries)
		return false
	}
	for _, n := range s.node.Content {
		if !(spot{n, s.key, s.problems}).isPlain() {
			return false
		}
	}
	return true
}

// An entry is a key of a mapping and its value.
type entry struct {
	name string
	spot
}

// A mapping is a mapping's entries in the order of the file.
type mapping struct {
	spot
	entries []entry
}

// mapping reads s as a mapping with no other keys than the allowed; any, if none
// are named. With another value it says so and returns one without entries.
func (s spot) mapping(allowed ...string) mapping {
	m := mapping{spot: s}
	if s.node.Kind != yaml.MappingNode {
		s.fail("must be a mapping of keys to values")
		return m
	}
	for i := 0; i+1 < len(s.node.Content); i += 2 {
		k, v := s.node.Content[i], s.node.Content[i+1]
		e := entry{k.Value, spot{v, s.below(k.Value), s.problems}}
		at := spot{k, e.key, s.problems}
		switch {
		case k.Kind != yaml.ScalarNode || k.Value == "":
			at.fail("is no key: write KEY: VALUE")
		case slices.ContainsFunc(m.entries, func(old entry) bool { return old.name == e.name }):
			at.fail("stands twice: keep one of them")
		case len(allowed) > 0 && !slices.Contains(allowed, k.Value):
			at.fail("there is no such key: use one of %s", strings.Join(allowed, ", "))
		default:
			m.entries = append(m.entries, e)
		}
	}
	return m
}

func (s spot) below(name string) string {
	if s.key == "" {
		return name
	}
	return s.key + "." + name
}

// get is the value of a key.
func (m mapping) get(name string) (spot, bool) {
	for _, e := range m.entries {
		if e.name == name {
			return e.spot, true
		}
	}
	return spot{}, false
}

// want is the value of a key that must be there; cure says what to write.
func (m mapping) want(name, cure string) (spot, bool) {
	s, ok := m.get(name)
	if !ok && m.node.Kind == yaml.MappingNode {
		m.problems.add(m.node.Line, m.below(name), "is missing: %s", cure)
	}
	return s, ok
}

// list is the elements of a sequence, and s itself if it is anything else.
func (s spot) list() []spot {
	if s.node.Kind != yaml.SequenceNode {
		return []spot{s}
	}
	spots := make([]spot, len(s.node.Content))
	for i, n := range s.node.Content {
		spots[i] = spot{n, fmt.Sprintf("%s[%d]", s.key, i), s.problems}
	}
	return spots
}

// sequence is the elements of s, which must be a sequence that is not empty.
func (s spot) sequence() []spot {
	if s.node.Kind != yaml.SequenceNode || len(s.node.Content) == 0 {
		s.fail("must be a list with something in it")
		return nil
	}
	return s.list()
}

// text is a text that is not empty.
func (s spot) text() (string, bool) {
	if s.node.Kind != yaml.ScalarNode || s.node.ShortTag() != "!!str" || s.node.Value == "" {
		s.fail("must be text: put it into quotes if it looks like something else")
		return "", false
	}
	return s.node.Value, true
}

// scalar is a text, number or truth value as it is written.
func (s spot) scalar() (string, bool) {
	if s.node.Kind == yaml.ScalarNode {
		switch s.node.ShortTag() {
		case "!!str", "!!int", "!!float":
			return s.node.Value, true
		case "!!bool": // True and TRUE are true
			return strings.ToLower(s.node.Value), true
		}
	}
	s.fail("must be a text, a number, true or false")
	return "", false
}

func (s spot) isText(word string) bool {
	return s.node.Kind == yaml.ScalarNode && s.node.ShortTag() == "!!str" && s.node.Value == word
}

func (s spot) number() (float64, bool) {
	var f float64
	if s.node.Kind != yaml.ScalarNode || s.node.Decode(&f) != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		s.fail("must be a number")
		return 0, false
	}
	return f, true
}

func (s spot) truth() (value, ok bool) {
	if s.node.Kind != yaml.ScalarNode || s.node.ShortTag() != "!!bool" || s.node.Decode(&value) != nil {
		s.fail("must be true or false")
		return false, false
	}
	return value, true
}

func (s spot) duration() (time.Duration, bool) {
	d, err := time.ParseDuration(s.node.Value)
	if s.node.Kind != yaml.ScalarNode || err != nil || d <= 0 {
		s.fail("must be a time such as 30s or 1m")
		return 0, false
	}
	return d, true
}
