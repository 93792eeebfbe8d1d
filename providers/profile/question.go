package profile

import (
	"strings"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
)

// A Question is what a call asks: the lead, and what it still lacked when the
// call was planned.
type Question struct {
	Lead    lead.Lead
	Missing []lead.Field
}

// About is a call about the lead's person that is yet without its Do. Its answer
// depends on the API that is asked, which may be an imitation, and on the lead's
// own domain where that is a mail provider's ([DropMailHost]); on nothing else
// that the lead came with.
func About(base string, l lead.Lead, endpoint string) providers.Call {
	c := providers.Call{Endpoint: endpoint, Variant: variant(base, l)}
	if address, err := lead.NormalizeEmail(l.Email); err == nil { // else it cannot be told who is meant
		c.Subject = lead.EmailKey(address)
	}
	return c
}

func variant(base string, l lead.Lead) string {
	if d := lead.NormalizeDomain(l.Domain); lead.IsFreeMail(d) {
		return base + " " + d
	}
	return base
}

// AboutName is a call about the lead's person by name and company.
func AboutName(base string, q Question, endpoint string) providers.Call {
	return providers.Call{Endpoint: endpoint, Variant: variant(base, q.Lead), Subject: q.Named().Key()}
}

// AboutCompany is a call about a company. Everybody who works there shares it.
func AboutCompany(base, domain, endpoint string) providers.Call {
	return providers.Call{Endpoint: endpoint, Variant: base, Subject: "domain:" + domain}
}

// Domain is that of the lead's company: the one it came with, else that of its
// address. A mail provider's is none.
func (q Question) Domain() string {
	d := lead.NormalizeDomain(q.Lead.InferredDomain())
	if lead.IsFreeMail(d) {
		return ""
	}
	return d
}

// IsAboutAnother reports whether an answer has an address, and it is not that of
// the person who was asked about.
func (q Question) IsAboutAnother(person httpjson.Node) bool {
	answered := Email(person)
	asked, err := lead.NormalizeEmail(q.Lead.Email)
	return answered != "" && (err != nil || lead.EmailKey(answered) != lead.EmailKey(asked))
}

// Named is a person who is known by name, and by their company's domain or name.
type Named struct {
	Name, Given, Family string
	Domain, Company     string
}

// Named is the lead without its address.
func (q Question) Named() Named {
	n := Named{
		Name: q.Lead.Name, Given: q.Lead.GivenName, Family: q.Lead.FamilyName,
		Domain: q.Domain(), Company: q.Lead.Company,
	}
	if n.Name == "" {
		n.Name = strings.TrimSpace(n.Given + " " + n.Family)
	}
	return n
}

// Key is the one spelling of the person, "" if there is no name.
func (n Named) Key() string {
	return lead.NameKey(n.Name, n.Domain, n.Company)
}

// Agrees reports whether an answer to a question by name is about the one who was
// asked about: the names may be one person's, and the company is the same by
// domain, or by name where one of the domains is not known. A company of which the
// answer says nothing does not agree, unless none was asked for.
//
// What it looks at is in key, so that equal persons get equal answers.
func (n Named) Agrees(name, domain, company string) bool {
	if !lead.NamesAgree(n.Name, name) {
		return false
	}
	switch {
	case n.Domain != "" && domain != "":
		return lead.SameSite(n.Domain, domain)
	case n.Company != "" && company != "":
		return lead.SameCompany(n.Company, company)
	case n.Domain != "" && company != "": // "acme-robotics.example" and "Acme Robotics"
		return lead.SameCompany(lead.SiteName(n.Domain), company)
	}
	return n.Domain == "" && n.Company == ""
}
