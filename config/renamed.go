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

// removed are the keys that do nothing any more; they are ignored for one more
// version, with a warning.
var removed = []string{"providers.*.circuit.min_replicas"}

// removed reports whether a key was removed, and warns.
func (l *loader) removed(key, origin string) bool {
	parts := strings.Split(key, ".")
	gone := slices.ContainsFunc(removed, func(old string) bool { return begins(parts, strings.Split(old, ".")) })
	if gone {
		l.warnings = append(l.warnings, Problem{Where: origin, Key: key, What: "was removed and does nothing: delete it; the next version does not know it"})
	}
	return gone
}

// begins reports whether a key begins with these parts, of which * is any one.
func begins(key, with []string) bool {
	return len(key) >= len(with) && slices.EqualFunc(with, key[:len(with)], func(w, part string) bool { return w == "*" || w == part })
}

// renamed gives a key by its present name, and warns if it was given by its old one.
func (l *loader) renamed(key, origin string) string {
	parts := strings.Split(key, ".")
	for _, r := range renames {
		old := strings.Split(r.old, ".")
		if !begins(parts, old) {
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
