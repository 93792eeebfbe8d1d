package lead

import (
	"slices"
	"strings"
	"unicode"
)

// Merged is what became of the values of one answer.
type Merged struct {
	Filled    []Field          // that were blank; sorted
	Replaced  []Field          // that had another value; sorted
	Conflicts map[Field]string // values of the answer that were not taken; nil without any
}

// Merge adds to f what p knows. Blank values change nothing. A value that is
// there gives way only
//
//   - to a newer one, where both say when they were true, and the newer one is not
//     known to be less certain;
//   - to any, if the lead came with it and its field is in overwrite;
//   - to an address that was verified, if nobody verified the present one.
//
// What belongs together stays together. A state of an address comes and goes with
// its address. And where the answer's company is another one than the company that
// is known, what it says of the person's work ([Field.isWork]) is taken as a whole
// or not at all: the title at one company is none at another.
func (f *Facts) Merge(p Profile, from Origin, overwrite []Field) Merged {
	m := merge{Facts: f, from: from, overwrite: overwrite}
	p = clean(p)
	m.email(p)
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
		m.put(field, v)
		m.Filled = append(m.Filled, field)
	case SameValue(field, old, v):
	case m.beats(field):
		m.put(field, v)
		m.Replaced = append(m.Replaced, field)
	default:
		m.conflict(field, v)
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

func (m *merge) conflict(field Field, v string) {
	if m.Conflicts == nil {
		m.Conflicts = map[Field]string{}
	}
	m.Conflicts[field] = v
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

// The states of an address that decide something.
const (
	EmailValid   = "valid"   // its mailbox exists
	EmailInvalid = "invalid" // mail to it would bounce
)

// email settles the address and its state, and takes both out of p.
func (m *merge) email(p Profile) {
	address, state := p[PersonEmail], p[PersonEmailStatus]
	delete(p, PersonEmail)
	delete(p, PersonEmailStatus)
	known := m.Profile[PersonEmail]
	switch {
	case address == "" || known == "" || EmailKey(address) == EmailKey(known):
		if address != "" && known == "" && state != EmailInvalid {
			m.field(PersonEmail, address)
		}
		m.state(state)
	case state == EmailValid && m.Profile[PersonEmailStatus] != EmailValid && m.mayReplaceEmail():
		m.conflict(PersonEmail, known)
		delete(m.Profile, PersonEmailStatus)
		delete(m.Provenance, PersonEmailStatus)
		m.put(PersonEmail, address)
		m.Replaced = append(m.Replaced, PersonEmail)
		m.state(state)
	default:
		m.conflict(PersonEmail, address)
	}
}

// state takes the state of the address that is known. The latest look at a mailbox
// counts; one that found out nothing changes nothing. An address that a provider
// found, and that turns out to be none, is dropped.
func (m *merge) state(state string) {
	if state == "" || m.Profile[PersonEmailStatus] != "" && state == "unknown" {
		return
	}
	if state == EmailInvalid && m.Profile[PersonEmail] != "" && m.Provenance[PersonEmail].Provider != OriginSource {
		m.conflict(PersonEmail, m.Profile[PersonEmail])
		for _, f := range []Field{PersonEmail, PersonEmailStatus} {
			delete(m.Profile, f)
			delete(m.Provenance, f)
		}
		return
	}
	switch old := m.Profile[PersonEmailStatus]; {
	case old == "":
		m.put(PersonEmailStatus, state)
		m.Filled = append(m.Filled, PersonEmailStatus)
	case old != state && !(m.from.AsOf.IsZero() || m.Provenance[PersonEmailStatus].AsOf.IsZero() || m.from.newer(m.Provenance[PersonEmailStatus])):
		m.conflict(PersonEmailStatus, state)
	case old != state:
		m.put(PersonEmailStatus, state)
		m.Replaced = append(m.Replaced, PersonEmailStatus)
	}
}

func (m *merge) mayReplaceEmail() bool {
	return m.Provenance[PersonEmail].Provider != OriginSource || slices.Contains(m.overwrite, PersonEmail)
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

// work looks after the fields of the person's work when the answer is about
// another company than the one that is known. It leaves in p what may be merged
// field by field.
func (m *merge) work(p Profile) {
	domain := p[CompanyDomain]
	known := m.Profile[CompanyDomain]
	if domain == "" || known == "" || SameSite(domain, known) {
		return
	}
	wins := m.beats(CompanyDomain)
	if wins {
		for field := range m.Profile {
			if field.isWork() && m.Provenance[field].Provider != OriginSource && p[field] == "" {
				delete(m.Profile, field)
				delete(m.Provenance, field)
			}
		}
		return
	}
	for field, v := range p {
		if !field.isWork() {
			continue
		}
		delete(p, field)
		if old := m.Profile[field]; old == "" || !SameValue(field, old, v) {
			m.conflict(field, v)
		}
	}
}

// SameValue reports whether two values of a field say the same: providers differ
// in case, in punctuation, and in whether a host has its "www.".
func SameValue(field Field, a, b string) bool {
	switch field {
	case CompanyDomain:
		return SameSite(a, b)
	case PersonEmail:
		return EmailKey(a) == EmailKey(b)
	}
	return essence(a) == essence(b)
}

// essence is a text without what makes no difference: case, accents, signs.
func essence(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '+' {
			return r
		}
		return -1
	}, foldAccents(strings.ToLower(s)))
}
