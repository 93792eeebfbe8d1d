package described

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"
)

//go:embed descriptions/*.yaml
var descriptions embed.FS

// shipped are the descriptions that come with the program, by name. They are part
// of it: that each can be read is for the tests to see.
var shipped = sync.OnceValue(func() map[string]*Description {
	files, err := descriptions.ReadDir("descriptions")
	if err != nil {
		panic(fmt.Sprintf("list shipped descriptions: %v", err))
	}
	all := map[string]*Description{}
	for _, f := range files {
		text, err := descriptions.ReadFile(path.Join("descriptions", f.Name()))
		if err != nil {
			panic(fmt.Sprintf("read shipped description: %v", err))
		}
		d, err := ParseDescription(f.Name(), text)
		if err != nil {
			panic(fmt.Sprintf("shipped description: %v", err))
		}
		all[d.Name] = d
	}
	return all
})

// ByName is the shipped description of a provider.
func ByName(name string) (*Description, bool) {
	d, ok := shipped()[name]
	return d, ok
}

// Shipped lists the providers whose descriptions come with the program, sorted.
// They are named in a configuration like those with code of their own.
func Shipped() []string { return slices.Sorted(maps.Keys(shipped())) }
