package described

import (
	"math"
	"slices"
	"strings"
	"time"

	"backstop/lead"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
)

// A fieldSource is one place in an answer where a field's value may stand.
type fieldSource struct {
	paths  []jsonPath
	join   bool              // the values of all paths, with a comma between them
	values map[string]string // nil: any; else what the API's words mean, other words are no value
}

// value is what the source says for the field, in the spelling that is stored; ""
// if it has nothing that is a value.
func (s fieldSource) value(f lead.Field, doc httpjson.Node) string {
	if s.join {
		var parts []string
		for _, p := range s.paths {
			if v := firstText(p.find(doc)); v != "" {
				parts = append(parts, v)
			}
		}
		return strings.Join(parts, ", ")
	}
	for _, p := range s.paths {
		for _, n := range p.find(doc) {
			if s.values != nil {
				word, _ := n.Word()
				n = httpjson.Node{V: s.values[word]}
			}
			if v := normal(f, n); v != "" {
				return v
			}
		}
	}
	return ""
}

func firstText(nodes []httpjson.Node) string {
	for _, n := range nodes {
		if s := profile.Text(n); s != "" && !profile.IsBlank(s) {
			return s
		}
	}
	return ""
}

// normal is a value in the spelling in which the field is stored, "" if it is none.
func normal(f lead.Field, n httpjson.Node) string {
	s := profile.Text(n)
	switch f {
	case lead.PersonEmail:
		return profile.Address(n)
	case lead.PersonEmailStatus:
		if !slices.Contains(profile.EmailStates, s) {
			return ""
		}
		return s
	case lead.CompanyHeadcount:
		return profile.Headcount(n)
	case lead.CompanyDomain:
		return lead.NormalizeDomain(s)
	case lead.PersonLinkedIn, lead.CompanyLinkedIn:
		return linkedInOf(f, s)
	}
	if profile.IsPlaceholder(f, s) {
		return ""
	}
	return s
}

// linkedInOf is a profile given as a URL, as a path or as the last part of it.
func linkedInOf(f lead.Field, s string) string {
	if s == "" || profile.IsPlaceholder(f, s) {
		return ""
	}
	if !strings.ContainsAny(s, "/.") {
		s = map[lead.Field]string{lead.PersonLinkedIn: "in/", lead.CompanyLinkedIn: "company/"}[f] + s
	}
	return lead.NormalizeLinkedIn(s)
}

// profile reads the description's fields out of an answer.
func (d *Description) profile(doc httpjson.Node) lead.Profile {
	p := lead.Profile{}
	for _, f := range lead.Fields {
		for _, s := range d.fields[f] {
			v := s.value(f, doc)
			if v == "" {
				continue
			}
			if f == lead.PersonEmailStatus { // "unknown" is one
				p[f] = v
			}
			profile.Set(p, f, v)
			break
		}
	}
	profile.Set(p, lead.PersonName, strings.TrimSpace(p[lead.PersonGivenName]+" "+p[lead.PersonFamilyName]))
	return p
}

// asOfLayouts are the forms in which APIs give a day or a moment.
var asOfLayouts = []string{time.RFC3339, time.DateTime, time.DateOnly}

// oldest is the earliest date that is taken for when something was true. APIs give
// the epoch itself where they know none.
var oldest = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)

// when is the first date at the paths that can be one; the zero time without any.
func when(paths []jsonPath, doc httpjson.Node, now time.Time) time.Time {
	for _, p := range paths {
		for _, n := range p.find(doc) {
			for _, layout := range asOfLayouts {
				t, err := time.Parse(layout, profile.Text(n))
				if err == nil && t.After(oldest) && t.Before(now.Add(24*time.Hour)) {
					return t.UTC()
				}
			}
		}
	}
	return time.Time{}
}

// A confidence is where an answer says how sure it is, and what the highest is.
type confidence struct {
	paths []jsonPath
	of    float64
}

// value is from 0 to 1; 0 where the answer does not say.
func (c *confidence) value(doc httpjson.Node) float64 {
	if c == nil {
		return 0
	}
	for _, p := range c.paths {
		for _, n := range p.find(doc) {
			if f, ok := n.Numeric(); ok && f >= 0 {
				return math.Min(f/c.of, 1)
			}
		}
	}
	return 0
}
