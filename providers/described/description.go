package described

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/resilience"
)

// A Description is a provider that needs no code: how an API is asked and how it
// answers, in YAML. docs/describing-a-provider.md is the reference of the format.
type Description struct {
	// Name is the provider's name in chains, trails, logs and metrics.
	Name string

	facts      Facts
	needs      []needSet
	request    describedRequest
	auth       describedAuth
	poll       *describedPoll
	answers    []answerRow
	fields     map[lead.Field][]fieldSource
	identity   identityPaths
	asOf       []jsonPath
	confidence *confidence
}

// A needSet is a set of a lead's values that is enough to ask about it. No other
// values of the lead are sent.
type needSet []string

func (s needSet) has(word string) bool { return slices.Contains(s, word) }

func (s needSet) String() string { return strings.Join(s, " and ") }

// A describedPoll is how the result of a pending answer is asked for.
type describedPoll struct {
	describedRequest
	ticket []jsonPath // in the pending answer
}

// identityPaths are where an answer says whom it is about, if not in the fields.
type identityPaths struct{ email, name, domain []jsonPath }

var descriptionKeys = []string{"name", "docs", "base_url", "key_env", "limits", "needs", "request", "poll", "answers", "fields", "identity", "as_of", "confidence"}

// ParseDescription reads a description of a provider. file is what errors call
// it. The error joins a *[DescriptionError] for everything that is wrong.
func ParseDescription(file string, text []byte) (*Description, error) {
	problems := &problemList{file: file}
	d := &Description{fields: map[lead.Field][]fieldSource{}}
	if top, ok := readDescription(text, problems); ok {
		d.read(top.mapping(descriptionKeys...))
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return d, nil
}

// Facts are what the description says of the provider.
func (d *Description) Facts() Facts {
	f := d.facts.Clone()
	f.Endpoints = []string{d.endpoint()}
	return f
}

// New makes the described provider, under the name that the configuration gives it. It
// fails for options with which no request could be made.
func (d *Description) New(name string, o httpjson.Options) (providers.Provider, error) {
	v := httpjson.New(o, d.facts.BaseURL)
	if err := httpjson.Check(v.Options); err != nil {
		return nil, fmt.Errorf("provider %s: %w", name, err)
	}
	return &described{v, d, name}, nil
}

func (d *Description) read(m mapping) {
	d.readName(m)
	if s, ok := m.want("docs", "name the page of the vendor that says how the API answers"); ok {
		for _, one := range s.list() {
			one.text()
		}
	}
	if s, ok := m.want("base_url", "give scheme and host, such as https://api.example.com"); ok {
		if d.facts.BaseURL, ok = s.text(); ok {
			if err := httpjson.Check(httpjson.Options{BaseURL: d.facts.BaseURL}); err != nil {
				s.fail("%s: give scheme and host, and a prefix if all paths have it", strings.TrimPrefix(err.Error(), "base_url "))
			}
		}
	}
	d.readLimits(m)
	d.readNeeds(m)
	if s, ok := m.want("request", "say how the API is asked: method, path, auth"); ok {
		d.readRequest(s)
	}
	d.readKeyEnv(m)
	if s, ok := m.get("poll"); ok {
		d.readPoll(s)
	}
	if s, ok := m.want("answers", "list what each answer means; one row must have the class ok"); ok {
		d.readAnswers(s)
	}
	if s, ok := m.want("fields", "say where the answer has the values, such as person.title: person.title"); ok {
		d.readFields(s)
	}
	d.readRest(m)
}

var providerName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,30}$`)

func (d *Description) readName(m mapping) {
	s, ok := m.want("name", "it is the provider's name in chain")
	if !ok {
		return
	}
	if d.Name, ok = s.text(); !ok {
		return
	}
	switch {
	case !providerName.MatchString(d.Name):
		s.fail("must be a lower-case letter and at most 30 more letters, digits, - or _")
	case slices.Contains(providers.BuiltIn, d.Name), d.Name == lead.OriginSource, d.Name == lead.OriginInferred:
		s.fail("%s is the name of something built in: choose another", d.Name)
	}
}

var envName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

func (d *Description) readKeyEnv(m mapping) {
	s, ok := m.get("key_env")
	switch {
	case !ok && d.auth.kind != "" && d.auth.kind != "none":
		m.problems.add(m.node.Line, "key_env", "is missing: name the environment variable that holds the key, such as APOLLO_API_KEY")
	case ok && !(s.node.Kind == yaml.ScalarNode && envName.MatchString(s.node.Value)):
		s.fail("must be the name of an environment variable, such as APOLLO_API_KEY; the key itself never stands in a description")
	case ok && d.auth.kind == "none":
		s.fail("names a key that request.auth does not use: say where it goes, or leave key_env out")
	case ok:
		d.facts.KeyEnv = s.node.Value
	}
}

func (d *Description) readLimits(m mapping) {
	s, ok := m.want("limits", "give the vendor's, such as [{rate: 50, per: 1m}]")
	if !ok {
		return
	}
	for _, item := range s.sequence() {
		one := item.mapping("rate", "per")
		var l resilience.Limit
		if r, ok := one.want("rate", "give the calls that are allowed"); ok {
			n, ok := r.number()
			if ok && (n < 1 || n != float64(int(n)) || n > 1e6) {
				r.fail("must be a whole number from 1 to 1000000")
			}
			l.Rate = int(n)
		}
		if p, ok := one.want("per", "give the time in which they are allowed, such as 1m"); ok {
			l.Per, _ = p.duration()
		}
		d.facts.Limits = append(d.facts.Limits, l)
	}
}

func (d *Description) readNeeds(m mapping) {
	s, ok := m.want("needs", "list the sets of values by which a lead can be asked about, such as [[email], [name, domain]]")
	if !ok {
		return
	}
	for _, item := range s.sequence() {
		var set needSet
		for _, one := range item.sequence() {
			word, ok := one.text()
			switch {
			case ok && !slices.Contains(leadWords, word):
				one.fail("a lead has no %q: use one of %s", word, strings.Join(leadWords, ", "))
			case ok && set.has(word):
				one.fail("stands twice: keep one of them")
			case ok:
				set = append(set, word)
			}
		}
		i := slices.IndexFunc(d.needs, func(earlier needSet) bool {
			return len(set) > 0 && len(earlier) > 0 && !slices.ContainsFunc(earlier, func(w string) bool { return !set.has(w) })
		})
		if i >= 0 {
			item.fail("is never used: a lead that has these also has those of needs[%d], which comes first; move this one up", i)
		}
		d.needs = append(d.needs, set)
	}
}
