package lead

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Field names one value of a profile: "person.title", "company.domain".
type Field string

// The fields of the common profile. All values are text; head counts are given
// as the provider states them, "120" or "51-200".
const (
	PersonName        Field = "person.name"
	PersonGivenName   Field = "person.given_name"
	PersonFamilyName  Field = "person.family_name"
	PersonEmail       Field = "person.email"
	PersonEmailStatus Field = "person.email_status" // valid, invalid, accept_all, webmail, disposable, unknown
	PersonTitle       Field = "person.title"
	PersonRole        Field = "person.role"
	PersonSeniority   Field = "person.seniority"
	PersonLinkedIn    Field = "person.linkedin"
	PersonLocation    Field = "person.location"
	PersonPhone       Field = "person.phone"
	CompanyName       Field = "company.name"
	CompanyDomain     Field = "company.domain"
	CompanyIndustry   Field = "company.industry"
	CompanyHeadcount  Field = "company.headcount"
	CompanyLocation   Field = "company.location"
	CompanyPhone      Field = "company.phone"
	CompanyLinkedIn   Field = "company.linkedin"
)

// Fields lists every field in the order in which they are shown and exported.
var Fields = []Field{
	PersonName, PersonGivenName, PersonFamilyName, PersonEmail, PersonEmailStatus, PersonTitle, PersonRole,
	PersonSeniority, PersonLinkedIn, PersonLocation, PersonPhone,
	CompanyName, CompanyDomain, CompanyIndustry, CompanyHeadcount, CompanyLocation, CompanyPhone, CompanyLinkedIn,
}

// ParseField checks a field's name; the error lists the ones there are.
func ParseField(s string) (Field, error) {
	for _, f := range Fields {
		if string(f) == s {
			return f, nil
		}
	}
	names := make([]string, len(Fields))
	for i, f := range Fields {
		names[i] = string(f)
	}
	return "", fmt.Errorf("unknown profile field %q: use one of %s", s, strings.Join(names, ", "))
}

// A Profile holds the values known of a person and their company. A field that
// is not known is absent. In JSON it is {"person":{…},"company":{…}}.
type Profile map[Field]string

// MarshalJSON writes the nested form, both objects always present.
func (p Profile) MarshalJSON() ([]byte, error) {
	nested := map[string]map[string]string{"person": {}, "company": {}}
	for f, v := range p {
		group, name, ok := strings.Cut(string(f), ".")
		if !ok || nested[group] == nil {
			return nil, fmt.Errorf("profile field %q is in no group", f)
		}
		nested[group][name] = v
	}
	return json.Marshal(nested)
}

// UnmarshalJSON reads the nested form.
func (p *Profile) UnmarshalJSON(b []byte) error {
	var nested map[string]map[string]string
	if err := json.Unmarshal(b, &nested); err != nil {
		return fmt.Errorf("decode profile: %w", err)
	}
	*p = Profile{}
	for group, values := range nested {
		for name, v := range values {
			(*p)[Field(group+"."+name)] = v
		}
	}
	return nil
}

// Missing lists the fields of want that p lacks, in the order of want. A profile
// that lacks none is full.
func (p Profile) Missing(want []Field) []Field {
	missing := []Field{}
	for _, f := range want {
		if p[f] == "" {
			missing = append(missing, f)
		}
	}
	return missing
}

// Origin says who stated a value and how old the statement is.
type Origin struct {
	Provider   string  `json:"provider"`             // a provider's name, or [OriginSource], [OriginInferred]
	AsOf       Time    `json:"as_of,omitempty"`      // when the provider says that it was true; absent when it does not say
	Confidence float64 `json:"confidence,omitempty"` // how sure the provider is, from 0 to 1; absent when it does not say
}

// The origins that are no provider.
const (
	OriginSource   = "source"   // the lead came with it
	OriginInferred = "inferred" // derived from what the lead came with
)

// Facts are a profile and where each of its values comes from.
type Facts struct {
	Profile    Profile          `json:"profile,omitempty"`
	Provenance map[Field]Origin `json:"provenance,omitempty"`

	// Invalid are addresses that providers named and that do not exist, in the spelling
	// of [EmailKey].
	Invalid []string `json:"invalid,omitempty"`
}

// Open lists what is worth asking providers for: the fields of want that are
// missing and, where want has the person's address and a provider found one, what
// it takes to be sure of it. That is its state while nobody looked or could tell,
// and another address once the state is not valid: a found address is not a
// verified one. An address that the lead came with is the one that was asked about.
func (f Facts) Open(want []Field) []Field {
	open := f.Profile.Missing(want)
	if f.Profile[PersonEmail] == "" || f.Provenance[PersonEmail].Provider == OriginSource || !slices.Contains(want, PersonEmail) {
		return open
	}
	state := f.Profile[PersonEmailStatus]
	if (state == "" || state == emailUnknown) && !slices.Contains(open, PersonEmailStatus) {
		open = append(open, PersonEmailStatus)
	}
	if state != "" && state != EmailValid {
		open = append(open, PersonEmail)
	}
	return open
}

// Known is the lead as the facts have it: what the next provider can be asked by.
// Where a provider's value took the place of the lead's own it is the one to ask
// by, so that the answer fits what is known.
func (f Facts) Known(l Lead) Lead {
	for _, k := range []struct {
		value *string
		field Field
	}{
		{&l.Email, PersonEmail}, {&l.Name, PersonName}, {&l.GivenName, PersonGivenName}, {&l.FamilyName, PersonFamilyName},
		{&l.Title, PersonTitle}, {&l.Company, CompanyName}, {&l.Domain, CompanyDomain}, {&l.LinkedIn, PersonLinkedIn},
		{&l.Phone, PersonPhone}, {&l.Location, PersonLocation},
	} {
		if v := f.Profile[k.field]; v != "" {
			*k.value = v
		}
	}
	return l
}

// Infer adds what follows from what the lead came with: its company's domain. It
// is called when no provider is left to state one: until then the domain counts as
// missing, so that somebody is asked, and [Lead.InferredDomain] tells by what.
func (f *Facts) Infer(l Lead) {
	f.Merge(Profile{CompanyDomain: l.InferredDomain()}, Origin{Provider: OriginInferred}, nil)
}

// Clone returns a copy that shares nothing with f.
func (f Facts) Clone() Facts {
	c := Facts{Profile: Profile{}, Provenance: map[Field]Origin{}}
	for k, v := range f.Profile {
		c.Profile[k] = v
	}
	for k, v := range f.Provenance {
		c.Provenance[k] = v
	}
	c.Invalid = slices.Clone(f.Invalid)
	return c
}
