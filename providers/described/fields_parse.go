package described

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"backstop/lead"
	"backstop/providers/profile"
)

func (d *Description) readFields(s spot) {
	m := s.mapping()
	for _, e := range m.entries {
		f, err := lead.ParseField(e.name)
		if err != nil {
			e.fail("there is no such field of a profile: use one of %s", joinFields())
			continue
		}
		for _, one := range e.list() {
			d.fields[f] = append(d.fields[f], readSource(f, one))
		}
		if len(e.list()) == 0 {
			e.fail("must name a path")
		}
	}
	if s.node.Kind == yaml.MappingNode && len(s.node.Content) == 0 {
		s.fail("has no field: a provider that fills nothing need not be asked")
	}
}

func joinFields() string {
	names := make([]string, len(lead.Fields))
	for i, f := range lead.Fields {
		names[i] = string(f)
	}
	return strings.Join(names, ", ")
}

// readSource reads a path, {path: …, map: …} or {join: […]}.
func readSource(f lead.Field, s spot) fieldSource {
	if s.node.Kind != yaml.MappingNode {
		return fieldSource{paths: readPaths(s)}
	}
	m := s.mapping("path", "map", "join")
	p, hasPath := m.get("path")
	j, hasJoin := m.get("join")
	if hasPath == hasJoin {
		s.fail("must have either path or join")
		return fieldSource{}
	}
	v, hasMap := m.get("map")
	if hasJoin {
		if hasMap {
			v.fail("goes with path, not with join")
		}
		j.sequence()
		return fieldSource{paths: readPaths(j), join: true}
	}
	source := fieldSource{paths: readPaths(p)}
	if hasMap {
		source.values = readValues(f, v)
	}
	return source
}

// readValues reads what the API's words mean.
func readValues(f lead.Field, s spot) map[string]string {
	values := map[string]string{}
	for _, e := range s.mapping().entries {
		word, ok := e.text()
		if ok && f == lead.PersonEmailStatus && !slices.Contains(profile.EmailStates, word) {
			e.fail("there is no state %q of an address: use one of %s", word, strings.Join(profile.EmailStates, ", "))
		}
		values[e.name] = word
	}
	return values
}

// readPaths reads a path or a list of paths that are tried in order.
func readPaths(s spot) []jsonPath {
	var paths []jsonPath
	for _, one := range s.list() {
		text, ok := one.text()
		if !ok {
			continue
		}
		p, wrong := parsePath(text)
		if wrong != "" {
			one.fail("%s", wrong)
		}
		paths = append(paths, p)
	}
	if len(s.list()) == 0 {
		s.fail("must name a path")
	}
	return paths
}

// readRest reads what a description may do without.
func (d *Description) readRest(m mapping) {
	if s, ok := m.get("identity"); ok {
		id := s.mapping("email", "name", "domain")
		for _, e := range id.entries {
			into := map[string]*[]jsonPath{"email": &d.identity.email, "name": &d.identity.name, "domain": &d.identity.domain}[e.name]
			*into = readPaths(e.spot)
		}
	}
	if s, ok := m.get("as_of"); ok {
		d.asOf = readPaths(s)
	}
	if s, ok := m.get("confidence"); ok {
		c := s.mapping("at", "of")
		d.confidence = &confidence{}
		if at, ok := c.want("at", "give the path to it"); ok {
			d.confidence.paths = readPaths(at)
		}
		if of, ok := c.want("of", "give the highest value there is, such as 10 or 100"); ok {
			if d.confidence.of, ok = of.number(); ok && d.confidence.of <= 0 {
				of.fail("must be more than 0")
			}
		}
	}
}
