package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	kyaml "github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/providers/structs"
	"github.com/knadh/koanf/v2"
	"go.yaml.in/yaml/v3"
)

// Prefix begins the environment variables of the configuration.
const Prefix = "BACKSTOP_"

// FileEnv is the variable that names the configuration file when no flag does.
const FileEnv = Prefix + "CONFIG"

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
// each a [Problem] joined into the error.
func Load(src Source) (Config, error) {
	l := loader{src: src, env: map[string]string{}, lines: map[string]int{}}
	if err := l.readFile(); err != nil {
		return Config{}, err
	}
	l.readEnviron()
	l.describe()
	var c Config
	if len(l.problems) == 0 {
		c = l.decode()
	}
	if len(l.problems) == 0 {
		l.validate(c)
	}
	return c, errors.Join(l.problems...)
}

// A loader collects the layers and remembers where each key came from.
type loader struct {
	src     Source
	file    string // as given, for messages
	content []byte
	lines   map[string]int    // the line of each key of the file
	env     map[string]string // the variable of each key of the environment
	values  map[string]any    // the environment's values by dotted key

	described map[string]string // the file that describes a provider
	problems  []error
}

func (l *loader) problem(key, format string, args ...any) {
	l.problems = append(l.problems, Problem{Where: l.where(key), Key: key, What: fmt.Sprintf(format, args...)})
}

// where says where the effective value of a key, or of the nearest key above it,
// was given.
func (l *loader) where(key string) string {
	for k := key; k != ""; {
		if v, ok := l.env[k]; ok {
			return "environment variable " + v
		}
		if n, ok := l.lines[k]; ok {
			return fmt.Sprintf("%s:%d", l.file, n)
		}
		i := strings.LastIndexByte(k, '.')
		if i < 0 {
			break
		}
		k = k[:i]
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
	if err := yaml.Unmarshal(b, &root); err != nil {
		return Problem{Where: l.file, What: strings.TrimPrefix(err.Error(), "yaml: ") + ": correct the YAML"}
	}
	if len(root.Content) > 0 {
		l.index(root.Content[0], reflect.TypeFor[Config](), "")
	}
	l.content = b
	return nil
}

// readEnviron takes the variables that begin with Prefix.
func (l *loader) readEnviron() {
	l.values = map[string]any{}
	for _, kv := range l.src.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, Prefix) || name == FileEnv || name == SecretEnv {
			continue
		}
		key := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, Prefix), "__", "."))
		t, err := reflect.TypeFor[Config](), error(nil)
		for _, part := range strings.Split(key, ".") {
			if t, err = childType(t, part); err != nil {
				break
			}
		}
		l.env[key] = name
		if err != nil {
			l.problem(key, "unknown key: %v", err)
			continue
		}
		v, err := envValue(t, value)
		if err != nil {
			l.problem(key, "%v", err)
			continue
		}
		l.values[key] = v
	}
}

// decode puts the layers over each other.
func (l *loader) decode() Config {
	k := koanf.New(".")
	layers := []struct {
		provider koanf.Provider
		parser   koanf.Parser
	}{
		{structs.Provider(Defaults(), "koanf"), nil},
		{confmap.Provider(l.providerDefaults(), "."), nil},
		{rawbytes.Provider(l.content), kyaml.Parser()},
		{confmap.Provider(l.values, "."), nil},
	}
	for _, layer := range layers {
		if layer.parser != nil && len(l.content) == 0 {
			continue
		}
		if err := k.Load(layer.provider, layer.parser); err != nil {
			l.problems = append(l.problems, Problem{Where: l.file, What: err.Error()})
			return Config{}
		}
	}
	for name := range k.Cut("providers").Raw() {
		if _, known := l.src.Facts[name]; !known {
			l.problem("providers."+name, "there is no such provider: use one of %s", strings.Join(names(l.src.Facts), ", "))
		}
	}
	var c Config
	err := k.UnmarshalWithConf("", &c, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
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
		if !given("providers." + name + ".answers.positive") {
			p.Answers.Positive = c.Answers.Positive
		}
		if !given("providers." + name + ".answers.negative") {
			p.Answers.Negative = c.Answers.Negative
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
