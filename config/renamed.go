package config

import (
	"slices"
	"strings"
)

// renames are the keys that have a new name; * is any one level. The old name
// works for one more version, with a warning.
var renames = []struct{ old, present string }{
	{"answers", "cache"},
	{"providers.*.answers", "cache"},
	{"providers.*.patience", "max_wait"},
}

// renamed gives a key by its present name, and warns if it was given by its old one.
func (l *loader) renamed(key, origin string) string {
	parts := strings.Split(key, ".")
	for _, r := range renames {
		old := strings.Split(r.old, ".")
		if len(parts) < len(old) || !slices.EqualFunc(old, parts[:len(old)], func(o, part string) bool { return o == "*" || o == part }) {
			continue
		}
		parts[len(old)-1] = r.present
		present := strings.Join(parts, ".")
		what := "was renamed: write " + present
		if strings.HasPrefix(origin, fromEnviron) {
			what += ", as a variable " + variable(present)
		}
		l.warnings = append(l.warnings, Problem{Where: origin, Key: key, What: what + "; the next version does not know the old name"})
		return present
	}
	return key
}
