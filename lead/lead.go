package lead

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// MaxFieldLength is the longest value, in bytes, that a lead's field may have.
// Names, titles and addresses stay far below it; what exceeds it is a damaged
// row, such as a cell whose closing quote is missing.
const MaxFieldLength = 1000

// A Lead is a person as a source system knows them. All fields are optional, but
// a lead needs an email address or a name to be accepted.
type Lead struct {
	Source     string `json:"source,omitempty"`    // where it came from: a file's base name, a CRM
	SourceID   string `json:"source_id,omitempty"` // what the source calls it
	Email      string `json:"email,omitempty"`
	Name       string `json:"name,omitempty"`
	GivenName  string `json:"given_name,omitempty"`
	FamilyName string `json:"family_name,omitempty"`
	Title      string `json:"title,omitempty"`
	Company    string `json:"company,omitempty"`
	Domain     string `json:"domain,omitempty"` // the company's, without scheme or "www."
	LinkedIn   string `json:"linkedin,omitempty"`
	Phone      string `json:"phone,omitempty"`
	Location   string `json:"location,omitempty"`
}

// A FieldError says which field of a lead cannot be used, why, and what to do.
// It never quotes the value, so that it can be logged.
type FieldError struct {
	Field  string // as in a Lead's JSON
	Reason string // "is not an email address"
	Cure   string // "correct it or empty the cell"
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s %s: %s", e.Field, e.Reason, e.Cure)
}

// ID is the lead's stable identifier. It comes from source and source ID when
// both are given, else from the email address, else from the name and company.
// Call it on a lead that [Normalize] returned.
func (l Lead) ID() string {
	switch {
	case l.Source != "" && l.SourceID != "":
		return hashID("source", l.Source, l.SourceID)
	case l.Email != "":
		return hashID("email", EmailKey(l.Email))
	default:
		return hashID("name", strings.ToLower(l.Name), strings.ToLower(l.Company), l.Domain)
	}
}

// hashID makes an identifier of 29 characters that is safe in keys, URLs and
// file names and tells nothing about the person.
func hashID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	enc := base32.StdEncoding.WithPadding(base32.NoPadding)
	return "ld_" + strings.ToLower(enc.EncodeToString(sum[:16]))
}

// fields lists the lead's values with their JSON names, for checks over all.
func (l *Lead) fields() []struct {
	name  string
	value *string
} {
	return []struct {
		name  string
		value *string
	}{
		{"source", &l.Source}, {"source_id", &l.SourceID}, {"email", &l.Email},
		{"name", &l.Name}, {"given_name", &l.GivenName}, {"family_name", &l.FamilyName},
		{"title", &l.Title}, {"company", &l.Company}, {"domain", &l.Domain},
		{"linkedin", &l.LinkedIn}, {"phone", &l.Phone}, {"location", &l.Location},
	}
}

// Profile is what the source itself knows, as profile fields. A company domain
// is not derived here: see [Lead.InferredDomain].
func (l Lead) Profile() Profile {
	p := Profile{}
	for f, v := range map[Field]string{
		PersonName: l.Name, PersonGivenName: l.GivenName, PersonFamilyName: l.FamilyName,
		PersonEmail: l.Email, PersonTitle: l.Title, PersonLinkedIn: l.LinkedIn,
		PersonPhone: l.Phone, PersonLocation: l.Location,
		CompanyName: l.Company, CompanyDomain: l.Domain,
	} {
		if v != "" {
			p[f] = v
		}
	}
	return p
}

// InferredDomain is the company's domain as far as the lead tells: the one it
// came with, else that of its email address unless that is a free-mail host.
func (l Lead) InferredDomain() string {
	if l.Domain != "" {
		return l.Domain
	}
	if _, host, ok := strings.Cut(l.Email, "@"); ok && !IsFreeMail(host) {
		return host
	}
	return ""
}
