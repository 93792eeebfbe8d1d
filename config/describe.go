package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/knadh/koanf/v2"
)

// describe adds the facts of the providers that files describe, before anything
// else looks at the names of providers.
func (l *loader) describe(given *koanf.Koanf) {
	if l.src.Describe == nil {
		return
	}
	l.src.Facts = maps.Clone(l.src.Facts)
	l.described = map[string]string{}
	for _, name := range given.MapKeys("providers") {
		key := "providers." + name + ".description"
		file := given.String(key)
		if file == "" {
			continue
		}
		if l.file != "" && !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(l.file), file)
		}
		facts, err := l.src.Describe(file)
		if err != nil {
			l.undescribed(key, err)
		}
		l.src.Facts[name], l.described[name] = facts, file
	}
}

// undescribed reports what is wrong with a description. An error in the file says
// where it is; that it cannot be read is a problem of the key that names it.
func (l *loader) undescribed(key string, err error) {
	for _, e := range parts(err) {
		if _, unreadable := e.(*os.PathError); unreadable {
			e = Problem{Where: l.where(key), Key: key, What: fmt.Sprintf("cannot be read: %v", e)}
		}
		l.problems = append(l.problems, e)
	}
}
