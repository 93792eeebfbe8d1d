package config

import (
	"errors"
	"iter"
	"reflect"
	"regexp"
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
		if l.removed(key, origin) {
			continue
		}
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

// meant names the variable that was meant by one with too few underscores, if there
// is one: redis_url is redis.url.
func (l *loader) meant(key string) string {
	if known := l.find(strings.ReplaceAll(key, ".", "_"), reflect.TypeFor[Config]()); known != "" {
		return "; did you mean " + variable(known) + "? Two underscores go between levels"
	}
	return ""
}

// find is the key below t whose levels, joined by single underscores, are name.
func (l *loader) find(name string, t reflect.Type) string {
	for child, below := range l.children(t) {
		if child == name {
			return name
		}
		if rest, ok := strings.CutPrefix(name, child+"_"); ok {
			if key := l.find(rest, below); key != "" {
				return child + "." + key
			}
		}
	}
	return ""
}

// children are the keys below a structure or, in a map, those of the providers.
func (l *loader) children(t reflect.Type) iter.Seq2[string, reflect.Type] {
	switch t.Kind() {
	case reflect.Struct:
		return children(t)
	case reflect.Map:
		return func(yield func(string, reflect.Type) bool) {
			for name := range l.src.Facts {
				if !yield(name, t.Elem()) {
					return
				}
			}
		}
	}
	return func(func(string, reflect.Type) bool) {}
}
