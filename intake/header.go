package intake

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"backstop/lead"
)

// place is what a header stands for. Where several columns give one target, the
// filled one of the lowest rank counts.
type place struct {
	target target
	rank   int
}

// schema says which headers stand for what, and what a table must have.
type schema struct {
	places map[string]place
	byName map[string]target // what --map may name
	needs  []target          // one of them must be there
	what   string            // the needs in words
	forced map[target]string // from --map
}

var (
	leadSchema = newSchema([]target{tEmail, tName, tGivenName, tFamilyName},
		"an email address or a name", leadHeaders)
	peopleSchema = newSchema([]target{tEmail}, "an email address", leadHeaders, peopleHeaders)
)

func newSchema(needs []target, what string, lists ...map[target]string) *schema {
	s := &schema{places: map[string]place{}, byName: map[string]target{}, needs: needs, what: what}
	for _, list := range lists {
		for t, headers := range list {
			s.byName[names[t]] = t
			for rank, h := range strings.Fields(headers) {
				s.places[h] = place{t, rank}
			}
		}
	}
	s.byName[names[tSource]], s.byName[names[tSkip]] = tSource, tSkip
	if _, ok := s.byName[names[tIndustry]]; ok {
		for _, f := range lead.Fields { // "person.title", "company.industry"
			if p, ok := s.places[key(string(f))]; ok {
				s.byName[string(f)] = p.target
			}
		}
	}
	return s
}

// withMap adds what the user said about the columns.
func (s *schema) withMap(m map[string]string) (*schema, error) {
	c := *s
	c.forced = map[target]string{}
	for field, header := range m {
		t, ok := s.byName[field]
		if !ok {
			known := make([]string, 0, len(s.byName))
			for n := range s.byName {
				known = append(known, n)
			}
			sort.Strings(known)
			return nil, fmt.Errorf("unknown field %q to map a column to: use one of %s", field, strings.Join(known, ", "))
		}
		c.forced[t] = header
	}
	return &c, nil
}

// find says what a header stands for, --map included.
func (s *schema) find(k string) (place, bool) {
	for t, header := range s.forced {
		if header != "" && key(header) == k {
			return place{t, 0}, true
		}
	}
	p, ok := s.places[k]
	if _, forced := s.forced[p.target]; forced {
		return place{}, false
	}
	return p, ok
}

// layout says which cell is for what.
type layout struct {
	headers []string
	first   int               // the first column that is not the rejects file's own
	by      [numTargets][]int // the columns that give a target, the preferred first
	twins   []twin
	known   int // columns that are used
}

// twin is a pair of columns with one header that tell who a lead is.
type twin struct {
	a, b   int
	target target
}

// rejectHeaders are the columns that a rejects file has before the original's.
var rejectHeaders = []string{"line", "field", "reason", "cure"}

// resolve finds out what the headers stand for. The error is about --map.
func (s *schema) resolve(headers []string) (*layout, error) {
	l := &layout{headers: headers}
	if len(headers) > len(rejectHeaders) && slices.Equal(headers[:len(rejectHeaders)], rejectHeaders) {
		l.first = len(rejectHeaders)
	}
	taken := map[int]bool{}
	for t, header := range s.forced {
		if header == "" {
			continue
		}
		i, err := l.column(header)
		if err != nil {
			return nil, err
		}
		taken[i] = true
		l.by[t] = []int{i}
		l.known++
	}
	ranks := map[int]int{}
	seen := map[string]int{}
	for i := l.first; i < len(headers); i++ {
		k := key(headers[i])
		p, ok := s.places[k]
		if _, forced := s.forced[p.target]; !ok || forced || taken[i] {
			continue
		}
		l.known++
		l.by[p.target] = append(l.by[p.target], i)
		ranks[i] = p.rank
		if j, twice := seen[k]; twice && (p.target == tEmail || p.target == tSourceID) {
			l.twins = append(l.twins, twin{j, i, p.target})
		}
		seen[k] = i
	}
	for t := range l.by {
		sort.SliceStable(l.by[t], func(a, b int) bool { return ranks[l.by[t][a]] < ranks[l.by[t][b]] })
	}
	return l, nil
}

// usable reports whether a row can say who it is about.
func (s *schema) usable(l *layout) bool {
	return slices.ContainsFunc(s.needs, func(t target) bool { return len(l.by[t]) > 0 })
}

var errNoColumn = errors.New("no such column")

// column finds the one column that the user named: by the header itself, else by
// its key; "Email#2" is the second of that name.
func (l *layout) column(name string) (int, error) {
	find := func(same func(h string) bool) (at []int) {
		for i := l.first; i < len(l.headers); i++ {
			if same(l.headers[i]) {
				at = append(at, i)
			}
		}
		return at
	}
	named := func(name string) []int {
		if at := find(func(h string) bool { return strings.TrimSpace(h) == strings.TrimSpace(name) }); len(at) > 0 {
			return at
		}
		return find(func(h string) bool { return key(h) != "" && key(h) == key(name) })
	}
	at := named(name)
	if base, nth, ok := strings.Cut(name, "#"); ok && len(at) == 0 {
		if n, err := strconv.Atoi(nth); err == nil && n > 0 && n <= len(named(base)) {
			return named(base)[n-1], nil
		}
	}
	switch len(at) {
	case 0:
		return 0, fmt.Errorf("%w: %q", errNoColumn, name)
	case 1:
		return at[0], nil
	}
	return 0, fmt.Errorf("the header %q occurs %d times: write %q for the second", name, len(at), name+"#2")
}

// columns says for people what each header was taken for.
func (l *layout) columns() []Column {
	out := make([]Column, 0, len(l.headers))
	for i := l.first; i < len(l.headers); i++ {
		c := Column{Index: i + 1, Header: l.headers[i]}
		for t, cols := range l.by {
			if slices.Contains(cols, i) {
				c.Field = names[t]
			}
		}
		out = append(out, c)
	}
	return out
}

// pick is a target's value in a row: the first filled cell or, in columns by which a row
// is skipped, the first that says so.
func (l *layout) pick(t target, rec *record) string {
	best := ""
	for _, i := range l.by[t] {
		c := plain(strings.TrimSpace(rec.cell(i)))
		if isBlank(c) {
			continue
		}
		switch {
		case (t == tDeleted || t == tOptOut || t == tSkip) && says(c), t == tStatus && isOptOut(c):
			return c
		case best == "":
			best = c
		}
	}
	return best
}
