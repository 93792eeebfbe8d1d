package config

import (
	"errors"
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Prefix begins the environment variables of the configuration.
const Prefix = "BACKSTOP_"

// FileEnv is the variable that names the configuration file when no flag does.
const FileEnv = Prefix + "CONFIG"

// fromEnviron begins the origin of a key that a variable gave.
const fromEnviron = "environment variable "

// variable is the environment variable of a key.
func variable(key string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
}

// serviceLink matches the variables that Kubernetes sets in every container for a
// service whose name begins with "backstop", and Docker for a linked container.
// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
// https://docs.docker.com/engine/network/links/#environment-variables
var serviceLink = regexp.MustCompile(`(?s)^` + Prefix + `(?:[A-Z0-9_]+_)?(?:SERVICE_HOST=.*|SERVICE_PORT(?:_[A-Z0-9_]+)?=\d+|PORT=(?:tcp|udp|sctp)://.*|` +
	`PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:ADDR|PORT|PROTO))?=.*|NAME=/.*|ENV_.+=.*)$`)

// readEnviron takes the variables that begin with Prefix.
func (l *loader) readEnviron() {
	for _, kv := range l.src.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, Prefix) || name == FileEnv || name == SecretEnv {
			continue
		}
		origin := fromEnviron + name
		key := l.renamed(strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, Prefix), "__", ".")), origin)
		t, err := typeOf(key)
		if err != nil && serviceLink.MatchString(kv) {
			continue
		}
		if _, twice := l.environ[key]; twice && l.origin[key] != origin {
			l.problem(key, "is given by its old name, too: keep %s", variable(key))
			continue
		}
		l.origin[key] = origin
		if err != nil {
			l.problem(key, "unknown key: %v%s", err, l.meant(key))
			continue
		}
		v, err := l.envValue(key, value, t)
		if err != nil {
			l.problem(key, "%v", err)
			continue
		}
		l.environ[key] = v
	}
}

// envValue reads a variable's text as the type of its key.
func (l *loader) envValue(key, text string, t reflect.Type) (any, error) {
	switch {
	case t == reflect.TypeFor[[]string]():
		list := []string{}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		return list, nil
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Map, t.Kind() == reflect.Struct:
		var n yaml.Node
		var v any
		err := yaml.Unmarshal([]byte(text), &n)
		if err == nil && len(n.Content) > 0 {
			origin := l.origin[key]
			l.index(n.Content[0], t, key, func(*yaml.Node) string { return origin })
			err = n.Decode(&v)
		}
		if err != nil {
			return nil, errors.New("is not YAML: write it as in the file, on one line")
		}
		return v, nil
	default:
		return text, nil
	}
}

// meant names the variable that differs from that of key by underscores only.
func (l *loader) meant(key string) string {
	letters := func(s string) string { return strings.NewReplacer("_", "", ".", "").Replace(s) }
	for known := range keys(reflect.TypeFor[Config](), "", slices.Sorted(maps.Keys(l.src.Facts))) {
		if letters(known) == letters(key) {
			return "; did you mean " + variable(known) + "? Two underscores go between levels"
		}
	}
	return ""
}

// keys are all keys below a type, those of the providers for each of them.
func keys(t reflect.Type, path string, providers []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if t == reflect.TypeFor[map[string]Provider]() {
			for _, name := range providers {
				for key := range keys(t.Elem(), path+"."+name, nil) {
					if !yield(key) {
						return
					}
				}
			}
			return
		}
		if t.Kind() != reflect.Struct {
			yield(strings.TrimPrefix(path, "."))
			return
		}
		for name, child := range children(t) {
			for key := range keys(child, path+"."+name, providers) {
				if !yield(key) {
					return
				}
			}
		}
	}
}
