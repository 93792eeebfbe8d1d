package lead

import (
	"encoding/json"
	"fmt"
	"sort"
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
	Provider string `json:"provider"`        // a provider's name, or [OriginSource], [OriginInferred]
	AsOf     Time   `json:"as_of,omitempty"` // when the provider says that it was true; absent when it does not say
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
}

// Merge adds what p knows and f does not, and returns the fields that it filled,
// sorted. A value already there stays, whoever stated it.
func (f *Facts) Merge(p Profile, from Origin) []Field {
	var filled []Field
	for field, v := range p {
		v = strings.TrimSpace(v)
		if v == "" || f.Profile[field] != "" {
			continue
		}
		if f.Profile == nil {
			f.Profile = Profile{}
		}
		if f.Provenance == nil {
			f.Provenance = map[Field]Origin{}
		}
		f.Profile[field] = v
		f.Provenance[field] = from
		filled = append(filled, field)
	}
	sort.Slice(filled, func(i, j int) bool { return filled[i] < filled[j] })
	return filled
}

// Infer adds what follows from what the lead came with: its company's domain.
func (f *Facts) Infer(l Lead) {
	f.Merge(Profile{CompanyDomain: l.InferredDomain()}, Origin{Provider: OriginInferred})
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
	return c
}
