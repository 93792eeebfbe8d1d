package config

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// index notes where every key below path was given, reports those that do not
// exist, and gives those that were renamed their present name,
// and takes out those that were removed.
func (l *loader) index(n *yaml.Node, t reflect.Type, path string, origin func(*yaml.Node) string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for _, item := range n.Content {
			l.index(item, t.Elem(), path, origin)
		}
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i]
			key := l.renamed(strings.TrimPrefix(path+"."+name.Value, "."), origin(name))
			if present := key[strings.LastIndexByte(key, '.')+1:]; present != name.Value {
				if slices.ContainsFunc(n.Content, func(other *yaml.Node) bool { return other.Value == present }) {
					l.problem(key, "is given by its old name %s, too: keep %s", name.Value, present)
					continue
				}
				name.Value = present
			}
			if l.removed(key, origin(name)) {
				n.Content = slices.Delete(n.Content, i, i+2)
				i -= 2
				continue
			}
			l.origin[key] = origin(name)
			child, known := childType(t, name.Value)
			if known == nil {
				l.index(n.Content[i+1], child, key, origin)
				continue
			}
			l.problems = append(l.problems, Problem{Where: origin(name), Key: key, What: "unknown key: " + known.Error()})
		}
	}
}

// childType is the type of a key below t. The error lists the keys there are.
func childType(t reflect.Type, key string) (reflect.Type, error) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), nil
	case reflect.Struct:
		var known []string
		for name, child := range children(t) {
			if name == key {
				return child, nil
			}
			known = append(known, name)
		}
		return nil, fmt.Errorf("use one of %s", strings.Join(known, ", "))
	default:
		return nil, errors.New("nothing goes below this key")
	}
}

// children are the keys directly below a structure, with their types.
func children(t reflect.Type) iter.Seq2[string, reflect.Type] {
	return func(yield func(string, reflect.Type) bool) {
		for f := range t.Fields() {
			name := f.Tag.Get("koanf")
			if name == "" { // a type of another package
				name = strings.ToLower(f.Name)
			}
			if name != "-" && !yield(name, f.Type) { // "-" is no setting
				return
			}
		}
	}
}

// typeOf is the type of a key of the configuration.
func typeOf(key string) (t reflect.Type, err error) {
	t = reflect.TypeFor[Config]()
	for _, part := range strings.Split(key, ".") {
		if t, err = childType(t, part); err != nil {
			return nil, err
		}
	}
	return t, nil
}
