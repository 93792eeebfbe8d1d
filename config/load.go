package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
	"go.yaml.in/yaml/v3"
)

// DefaultFile is read when neither a flag nor [FileEnv] names a file and it exists.
const DefaultFile = "backstop.yaml"

// A Problem is one thing wrong with the configuration.
type Problem struct {
	Where string // "backstop.yaml:12", "environment variable BACKSTOP_CHAIN", or "" for a default
	Key   string // "providers.clearbit.limits"
	What  string // what is wrong and what to do
}

func (p Problem) Error() string {
	var b strings.Builder
	if p.Where != "" {
		b.WriteString(p.Where + ": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	return b.String() + p.What
}

// Source is where a configuration is read from.
type Source struct {
	File    string   // "": FileEnv, else DefaultFile if it exists
	Environ []string // as os.Environ gives it
	// Facts are the providers there are, with what is known of each: base URL,
	// variable of the key, limits.
	Facts map[string]Provider
	// Describe gives the facts of a provider that a file describes. Each of its
	// errors, if joined, is a problem of its own and says where it is. It may be nil.
	Describe func(file string) (Provider, error)
	// Fields and Conditions are the names that want, overwrite, fills and only_if may
	// use. Without any they are not checked.
	Fields, Conditions []string
}

// Load reads and checks the configuration. All problems are reported together,
// each a [Problem] joined into the error. The warnings are about what still works.
func Load(src Source) (c Config, warnings []Problem, err error) {
	l := loader{src: src, environ: map[string]any{}, origin: map[string]string{}}
	if err := l.readFile(); err != nil {
		return Config{}, nil, err
	}
	l.readEnviron()
	given := l.given()
	l.describe(given)
	if len(l.problems) == 0 {
		c = l.decode(given)
	}
	if len(l.problems) == 0 {
		l.validate(c)
	}
	return c, l.warnings, errors.Join(l.problems...)
}

// A loader collects the layers and remembers where each key came from.
type loader struct {
	src     Source
	file    string            // as given, for messages
	content map[string]any    // of the file
	environ map[string]any    // the variables' values by dotted key
	origin  map[string]string // where each key was given last

	described map[string]string // the file that describes a provider
	problems  []error
	warnings  []Problem
}

func (l *loader) problem(key, format string, args ...any) {
	l.problems = append(l.problems, Problem{Where: l.where(key), Key: key, What: fmt.Sprintf(format, args...)})
}

// where says where the effective value of a key, or of the nearest key above it,
// was given.
func (l *loader) where(key string) string {
	for k := key; k != ""; k = k[:max(0, strings.LastIndexByte(k, '.'))] {
		if origin, ok := l.origin[k]; ok {
			return origin
		}
	}
	return ""
}

func (l *loader) readFile() error {
	l.file = l.src.File
	for _, kv := range l.src.Environ {
		if v, ok := strings.CutPrefix(kv, FileEnv+"="); ok && l.file == "" {
			l.file = v
		}
	}
	optional := l.file == ""
	if optional {
		l.file = DefaultFile
	}
	b, err := os.ReadFile(l.file)
	if optional && errors.Is(err, os.ErrNotExist) {
		l.file = ""
		return nil
	}
	if err != nil {
		return Problem{What: fmt.Sprintf("the configuration file cannot be read: %v", err)}
	}
	var root yaml.Node
	err = yaml.Unmarshal(b, &root)
	if err == nil && len(root.Content) > 0 {
		l.index(root.Content[0], reflect.TypeFor[Config](), "", func(n *yaml.Node) string {
			return fmt.Sprintf("%s:%d", l.file, n.Line)
		})
		err = root.Decode(&l.content)
	}
	if err != nil {
		return Problem{Where: l.file, What: strings.TrimPrefix(err.Error(), "yaml: ") + ": correct the YAML"}
	}
	return nil
}

// given is the file with the environment over it.
func (l *loader) given() *koanf.Koanf {
	k := koanf.New(".")
	_ = k.Load(confmap.Provider(l.content, ""), nil)  // maps in memory
	_ = k.Load(confmap.Provider(l.environ, "."), nil) // can always be read
	return k
}

// defaults is what holds where nothing is given. The ages of providers are not
// among it: they come from those of all.
func (l *loader) defaults() (*koanf.Koanf, error) {
	c := Defaults()
	c.Providers = map[string]Provider{}
	for name, f := range l.src.Facts {
		c.Providers[name] = withFacts(f)
	}
	var values map[string]any
	text, err := yaml.Marshal(c)
	if err == nil {
		err = yaml.Unmarshal(text, &values)
	}
	k := koanf.New(".")
	if err == nil {
		err = k.Load(confmap.Provider(values, ""), nil)
	}
	for name := range c.Providers {
		k.Delete("providers." + name + ".cache")
	}
	return k, err
}

// decode puts what was given over the defaults.
func (l *loader) decode(given *koanf.Koanf) (c Config) {
	k, err := l.defaults()
	if err == nil {
		err = k.Merge(given)
	}
	if err != nil {
		l.problems = append(l.problems, Problem{Where: l.file, What: err.Error()})
		return Config{}
	}
	for _, name := range k.MapKeys("providers") {
		if _, known := l.src.Facts[name]; !known {
			l.problem("providers."+name, "there is no such provider: use one of %s%s", strings.Join(names(l.src.Facts), ", "), l.meant("providers."+name))
		}
	}
	err = k.UnmarshalWithConf("", &c, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: &c, TagName: "koanf", WeaklyTypedInput: true,
		DecodeHook: mapstructure.ComposeDecodeHookFunc(durationHook, mapstructure.StringToTimeDurationHookFunc()),
	}})
	if err != nil {
		l.decodeProblems(err)
	}
	inheritAges(&c, k.Exists)
	for name, file := range l.described {
		p := c.Providers[name]
		p.Description = file
		c.Providers[name] = p
	}
	return c
}

// inheritAges gives a provider the ages of all where it has none of its own.
func inheritAges(c *Config, given func(key string) bool) {
	for name, p := range c.Providers {
		if !given("providers." + name + ".cache.positive") {
			p.Cache.Positive = c.Cache.Positive
		}
		if !given("providers." + name + ".cache.negative") {
			p.Cache.Negative = c.Cache.Negative
		}
		c.Providers[name] = p
	}
}

// durationHook refuses a number without a unit where a duration belongs: 5 would
// be five nanoseconds. 0 is 0 in every unit.
func durationHook(from, to reflect.Type, v any) (any, error) {
	if to != reflect.TypeFor[time.Duration]() || from == to || from.Kind() == reflect.String || v == 0 {
		return v, nil
	}
	return nil, fmt.Errorf("%v has no unit: write a duration such as 5s", v)
}
