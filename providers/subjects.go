package providers

import (
	"maps"
	"slices"
	"strings"

	"backstop/lead"
)

// Subjects are all that a call about the lead's person may have for its Subject,
// whichever provider is asked and by whatever of the lead. That of a call about their
// company is not among them: it is about nobody.
func Subjects(l lead.Lead) []string {
	found := map[string]bool{"": true}
	if address, err := lead.NormalizeEmail(l.Email); err == nil {
		found[lead.EmailKey(address)] = true
	}
	_, host, _ := strings.Cut(l.Email, "@")
	domains := []string{"", lead.NormalizeDomain(l.Domain), lead.NormalizeDomain(host)}
	for _, name := range []string{l.Name, strings.TrimSpace(l.GivenName + " " + l.FamilyName), l.GivenName, l.FamilyName} {
		for _, domain := range domains {
			found[lead.NameKey(name, domain, l.Company)] = true
			found[lead.NameKey(name, domain, "")] = true
		}
	}
	for key, v := range map[string]string{"profile": lead.NormalizeLinkedIn(l.LinkedIn), "phone": l.Phone, "location": l.Location} {
		if v != "" {
			found[key+":"+strings.ToLower(v)] = true
		}
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}
