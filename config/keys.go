package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// index notes the line of every key and reports those that do not exist.
func (l *loader) index(n *yaml.Node, t reflect.Type, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for _, item := range n.Content {
			l.index(item, t.Elem(), path)
		}
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := strings.TrimPrefix(path+"."+n.Content[i].Value, ".")
			if _, seen := l.lines[key]; !seen {
				l.lines[key] = n.Content[i].Line
			}
			child, known := childType(t, n.Content[i].Value)
			if known == nil {
				l.index(n.Content[i+1], child, key)
				continue
			}
			l.problems = append(l.problems, Problem{
				Where: fmt.Sprintf("%s:%d", l.file, n.Content[i].Line), Key: key,
				What: "unknown key: " + known.Error(),
			})
		}
	}
}

// childType is the type of a key below t. The error lists the keys there are.
func childType(t reflect.Type, key string) (reflect.Type, error) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), nil
	case reflect.Struct:
		var names []string
		for f := range t.Fields() {
			name := f.Tag.Get("koanf")
			if name == key {
				return f.Type, nil
			}
			if name != "-" { // no setting
				names = append(names, name)
			}
		}
		return nil, fmt.Errorf("use one of %s", strings.Join(names, ", "))
	default:
		return nil, errors.New("nothing goes below this key")
	}
}

// envValue reads a variable's text as the type of its key.
func envValue(t reflect.Type, s string) (any, error) {
	switch {
	case t == reflect.TypeFor[[]string]():
		list := []string{}
		for _, item := range strings.Split(s, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		return list, nil
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Map, t.Kind() == reflect.Struct:
		var v any
		if err := yaml.Unmarshal([]byte(s), &v); err != nil {
			return nil, errors.New("is not YAML: write it as in the file, on one line")
		}
		return v, nil
	default:
		return s, nil
	}
}
