package lead

import (
	"maps"
	"slices"
	"strings"
)

// Merged is what became of the values of one answer.
type Merged struct {
	Filled   []Field // that were blank; sorted
	Replaced []Field // that had another value; sorted
	// Conflicts are the values of the answer that were not taken, and an address that
	// was known until the answer said that it is none; nil without any.
	Conflicts map[Field]string
}

// Merge adds to f what p knows. Blank values change nothing. A value that is
// there gives way only
//
//   - to a newer one, where both say when they were true, and the newer one is not
//     known to be less certain;
//   - to any, if the lead came with it and its field is in overwrite;
//   - to any that a provider states, if it was inferred.
//
// The same value stated again is not replaced, but counts as being as new as its
// newest statement. To merge an answer twice changes nothing.
//
// Three groups of fields do not go field by field, because what belongs together
// stays together: the person's address and its state ([merge.email]), the parts of
// their name ([merge.names]), and where they work and as what ([merge.work]).
func (f *Facts) Merge(p Profile, from Origin, overwrite []Field) Merged {
	m := merge{Facts: f, from: from, overwrite: overwrite}
	p = clean(p)
	m.email(p)
	m.names(p)
	m.work(p)
	for field, v := range p {
		m.field(field, v)
	}
	slices.Sort(m.Filled)
	slices.Sort(m.Replaced)
	return m.Merged
}

// clean is p without blanks, as a copy.
func clean(p Profile) Profile {
	c := make(Profile, len(p))
	for field, v := range p {
		if v = strings.TrimSpace(v); v != "" {
			c[field] = v
		}
	}
	return c
}

// A merge is one answer on its way into the facts.
type merge struct {
	*Facts
	from      Origin
	overwrite []Field
	Merged
}

// field takes one value, or notes the conflict.
func (m *merge) field(field Field, v string) {
	old := m.Profile[field]
	switch {
	case old == "":
		m.fill(field, v)
	case SameValue(field, old, v):
		m.confirm(field)
	case m.beats(field):
		m.replace(field, v)
	default:
		m.conflict(field, v)
	}
}

func (m *merge) fill(field Field, v string) {
	m.put(field, v)
	m.Filled = append(m.Filled, field)
}

func (m *merge) replace(field Field, v string) {
	m.put(field, v)
	m.Replaced = append(m.Replaced, field)
}

// confirm is a value that is stated again.
func (m *merge) confirm(field Field) {
	old := m.Provenance[field]
	if old.Provider == OriginInferred || old.Provider != OriginSource && m.from.newer(old) {
		m.Provenance[field] = m.from
	}
}

func (m *merge) put(field Field, v string) {
	if m.Profile == nil {
		m.Profile = Profile{}
	}
	if m.Provenance == nil {
		m.Provenance = map[Field]Origin{}
	}
	m.Profile[field], m.Provenance[field] = v, m.from
}

func (m *merge) drop(field Field) {
	delete(m.Profile, field)
	delete(m.Provenance, field)
}

// conflict notes a value that is not taken.
func (m *merge) conflict(field Field, v string) {
	if v == "" {
		return
	}
	if m.Conflicts == nil {
		m.Conflicts = map[Field]string{}
	}
	m.Conflicts[field] = v
}

// isSources reports whether the lead came with the field's value.
func (m *merge) isSources(field Field) bool {
	return m.Provenance[field].Provider == OriginSource
}

// beats reports whether a value of this answer takes the place of the one that is
// there.
func (m *merge) beats(field Field) bool {
	old := m.Provenance[field]
	switch old.Provider {
	case OriginSource:
		return slices.Contains(m.overwrite, field)
	case OriginInferred:
		return true
	}
	return m.from.newer(old)
}

// newer reports whether o is a later statement than old, and no less certain one.
func (o Origin) newer(old Origin) bool {
	if o.AsOf.IsZero() || old.AsOf.IsZero() || !o.AsOf.After(old.AsOf.Time) {
		return false
	}
	return o.Confidence == 0 || old.Confidence == 0 || o.Confidence >= old.Confidence
}

// names settles the parts of the name where the answer's name is not the known
// one's: then it is taken as a whole or not at all, because the given name of one
// person is none of another's.
func (m *merge) names(p Profile) {
	known, stated := fullName(m.Profile), fullName(p)
	if known == "" || stated == "" || NamesAgree(known, stated) {
		return
	}
	wins := m.Profile[PersonName] == "" || m.beats(PersonName)
	for _, field := range []Field{PersonName, PersonGivenName, PersonFamilyName} {
		old, v := m.Profile[field], p[field]
		delete(p, field)
		switch {
		case !wins && !SameValue(field, old, v):
			m.conflict(field, v)
		case !wins || m.isSources(field) && !m.beats(field):
		case v == "":
			m.drop(field)
		case old == "":
			m.fill(field, v)
		case !SameValue(field, old, v):
			m.replace(field, v)
		}
	}
}

func fullName(p Profile) string {
	if p[PersonName] != "" {
		return p[PersonName]
	}
	return strings.TrimSpace(p[PersonGivenName] + " " + p[PersonFamilyName])
}

// isWork reports whether a field says something of where the person works and as
// what.
func (f Field) isWork() bool {
	switch f {
	case PersonTitle, PersonRole, PersonSeniority:
		return true
	}
	return strings.HasPrefix(string(f), "company.")
}

// work settles the fields of the person's work where the answer is about another
// company than the one that is known, and takes them out of p. Then they are taken
// as a whole or not at all: the title at one company is none at another.
//
// When the answer's company takes the place of the known one nothing of the latter
// is left, also where the answer has nothing instead; only what the lead came with
// stays as far as overwrite does not allow otherwise.
func (m *merge) work(p Profile) {
	if !m.isAnotherCompany(p) {
		return
	}
	wins := m.companyGivesWay(p)
	for _, field := range slices.Collect(maps.Keys(m.Profile)) {
		if !wins || !field.isWork() || m.isSources(field) {
			continue
		}
		old, v := m.Profile[field], p[field]
		delete(p, field)
		switch {
		case v == "":
			m.drop(field)
		case SameValue(field, old, v):
			m.put(field, v)
		default:
			m.replace(field, v)
		}
	}
	for field, v := range p {
		if wins || !field.isWork() {
			continue
		}
		delete(p, field)
		if !SameValue(field, m.Profile[field], v) {
			m.conflict(field, v)
		}
	}
}

// isAnotherCompany reports whether the answer names another company than the one
// that is known. Domains tell companies apart. A domain that was inferred names no
// company: an employer has its mail and its site under different names. Names are
// spelled in too many ways; they only count where the lead came with one, no domain
// is known, and nothing else connects it with the answer's: neither the answer's
// domain nor the lead's own address.
func (m *merge) isAnotherCompany(p Profile) bool {
	known, stated := m.Profile[CompanyDomain], p[CompanyDomain]
	switch {
	case stated == "":
		return false
	case known != "":
		return !SameSite(known, stated) && m.Provenance[CompanyDomain].Provider != OriginInferred
	case !m.isSources(CompanyName) || p[CompanyName] == "":
		return false
	}
	_, host, _ := strings.Cut(m.Profile[PersonEmail], "@")
	return !m.isNamedAlike(p) && !(m.isSources(PersonEmail) && SameSite(host, stated))
}

// isNamedAlike reports whether the answer's company may be the one that is known by
// name: by the name that the answer gives it, or that its domain has.
func (m *merge) isNamedAlike(p Profile) bool {
	known := m.Profile[CompanyName]
	return SameCompany(known, p[CompanyName]) || SameCompany(known, SiteName(p[CompanyDomain]))
}

// companyGivesWay reports whether the answer's company takes the place of the
// known one. A company that the lead itself named holds its place, under whatever
// domain a provider found for it, until an answer has a newer domain for that name:
// one that says nothing of the name is about another company, unless its domain has
// it.
func (m *merge) companyGivesWay(p Profile) bool {
	if m.isSources(CompanyName) && !slices.Contains(m.overwrite, CompanyName) && !m.isNamedAlike(p) {
		return false
	}
	return m.beats(CompanyDomain)
}
