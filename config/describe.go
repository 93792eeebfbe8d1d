package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// describe takes in the facts of the providers that files describe, before
// anything else looks at the names of providers.
func (l *loader) describe() {
	files := l.descriptions()
	if len(files) == 0 || l.src.Describe == nil {
		return
	}
	l.src.Facts = maps.Clone(l.src.Facts)
	l.described = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := files[name]
		if l.file != "" && !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(l.file), file)
		}
		facts, err := l.src.Describe(file)
		if err != nil {
			l.undescribed("providers."+name+".description", err)
		}
		l.src.Facts[name], l.described[name] = facts, file
	}
}

// undescribed takes the errors of a description apart. One of the file itself
// says where it is; that it cannot be read is a problem of the key that names it.
func (l *loader) undescribed(key string, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			l.undescribed(key, e)
		}
		return
	}
	if _, unreadable := err.(*os.PathError); unreadable {
		l.problem(key, "cannot be read: %v", err)
		return
	}
	l.problems = append(l.problems, err)
}

// descriptions are the files named by the configuration so far. What is wrong with
// it is found later.
func (l *loader) descriptions() map[string]string {
	var file struct {
		Providers map[string]struct {
			Description string `yaml:"description"`
		} `yaml:"providers"`
	}
	_ = yaml.Unmarshal(l.content, &file) // it was parsed before; wrong types are found by decode
	files := map[string]string{}
	for name, p := range file.Providers {
		if p.Description != "" {
			files[name] = p.Description
		}
	}
	for key, v := range l.values {
		const begin, end = "providers.", ".description"
		if len(key) <= len(begin)+len(end) || key[:len(begin)] != begin || key[len(key)-len(end):] != end {
			continue
		}
		if text, ok := v.(string); ok && text != "" {
			files[key[len(begin):len(key)-len(end)]] = text
		}
	}
	return files
}
