package providers

import (
	"maps"
	"slices"
	"strings"

	"backstop/lead"
)

// A question is what a call asks: the lead, and what it still lacked when the
// call was planned.
type question struct {
	lead    lead.Lead
	missing []lead.Field
}

// about is a call about the lead's person that is yet without its Do. Its answer
// depends on the API that is asked, which may be an imitation, and on the lead's
// own domain where that is a mail provider's ([dropMailHost]); on nothing else
// that the lead came with.
func (v *vendor) about(l lead.Lead, endpoint string) Call {
	c := Call{Endpoint: endpoint, Variant: v.variant(l)}
	if address, err := lead.NormalizeEmail(l.Email); err == nil { // else it cannot be told who is meant
		c.Subject = lead.EmailKey(address)
	}
	return c
}

func (v *vendor) variant(l lead.Lead) string {
	if d := lead.NormalizeDomain(l.Domain); lead.IsFreeMail(d) {
		return v.base + " " + d
	}
	return v.base
}

// aboutName is a call about the lead's person by name and company.
func (v *vendor) aboutName(q question, endpoint string) Call {
	return Call{Endpoint: endpoint, Variant: v.variant(q.lead), Subject: q.named().key()}
}

// aboutCompany is a call about a company. Everybody who works there shares it.
func (v *vendor) aboutCompany(domain, endpoint string) Call {
	return Call{Endpoint: endpoint, Variant: v.base, Subject: "domain:" + domain}
}

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

// domain is that of the lead's company: the one it came with, else that of its
// address. A mail provider's is none.
func (q question) domain() string {
	d := lead.NormalizeDomain(q.lead.InferredDomain())
	if lead.IsFreeMail(d) {
		return ""
	}
	return d
}

const somebodyElse = "answer is about somebody else"

// isAboutAnother reports whether an answer has an address, and it is not that of
// the person who was asked about.
func (q question) isAboutAnother(person node) bool {
	answered := email(person)
	asked, err := lead.NormalizeEmail(q.lead.Email)
	return answered != "" && (err != nil || lead.EmailKey(answered) != lead.EmailKey(asked))
}

// named is a person who is known by name, and by their company's domain or name.
type named struct {
	name, given, family string
	domain, company     string
}

// named is the lead without its address.
func (q question) named() named {
	n := named{
		name: q.lead.Name, given: q.lead.GivenName, family: q.lead.FamilyName,
		domain: q.domain(), company: q.lead.Company,
	}
	if n.name == "" {
		n.name = strings.TrimSpace(n.given + " " + n.family)
	}
	return n
}

// key is the one spelling of the person, "" if there is no name.
func (n named) key() string {
	return lead.NameKey(n.name, n.domain, n.company)
}

// agrees reports whether an answer to a question by name is about the one who was
// asked about: the names may be one person's, and the company is the same by
// domain, or by name where one of the domains is not known. A company of which the
// answer says nothing does not agree, unless none was asked for.
//
// What it looks at is in key, so that equal persons get equal answers.
func (n named) agrees(name, domain, company string) bool {
	if !lead.NamesAgree(n.name, name) {
		return false
	}
	switch {
	case n.domain != "" && domain != "":
		return lead.SameSite(n.domain, domain)
	case n.company != "" && company != "":
		return lead.SameCompany(n.company, company)
	case n.domain != "" && company != "": // "acme-robotics.example" and "Acme Robotics"
		return lead.SameCompany(lead.SiteName(n.domain), company)
	}
	return n.domain == "" && n.company == ""
}
