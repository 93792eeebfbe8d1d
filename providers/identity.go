package providers

import (
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

// Subjects are all that a call about the lead's person may have for its Subject. That
// of a call about their company is not among them: it is about nobody.
func Subjects(l lead.Lead) (subjects []string) {
	add := func(s string) {
		if s != "" && !slices.Contains(subjects, s) {
			subjects = append(subjects, s)
		}
	}
	if address, err := lead.NormalizeEmail(l.Email); err == nil {
		add(lead.EmailKey(address))
	}
	byName := l
	byName.Email = ""
	add(lead.PersonKey(byName))
	add(question{lead: l}.named().key())
	for key, v := range map[string]string{"profile": lead.NormalizeLinkedIn(l.LinkedIn), "phone": l.Phone, "location": l.Location} {
		if v != "" {
			add(key + ":" + strings.ToLower(v))
		}
	}
	return subjects
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
	return lead.PersonKey(lead.Lead{Name: n.name, Company: n.company, Domain: n.domain})
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
		return sameFirm(n.company, company)
	case n.domain != "" && company != "": // "acme-robotics.example" and "Acme Robotics"
		label, _, _ := strings.Cut(n.domain, ".")
		return sameFirm(strings.ReplaceAll(label, "-", " "), company)
	}
	return n.domain == "" && n.company == ""
}

// sameFirm reports whether two names may be one company's: they are the same
// without signs and legal forms, or one goes on where the other ends.
func sameFirm(a, b string) bool {
	x, y := firmWords(a), firmWords(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(x) == 0 {
		return false
	}
	for i := range x {
		if !lead.SameValue(lead.CompanyName, x[i], y[i]) {
			return lead.SameValue(lead.CompanyName, strings.Join(x, ""), strings.Join(y, ""))
		}
	}
	return true
}

// firmWords are the words of a company's name without its legal form.
func firmWords(name string) []string {
	var words []string
	for _, w := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune(" ,.&()-/", r) }) {
		if !legalForms[w] || len(words) == 0 {
			words = append(words, w)
		}
	}
	return words
}

var legalForms = map[string]bool{
	"inc": true, "incorporated": true, "llc": true, "ltd": true, "limited": true, "plc": true, "corp": true, "corporation": true,
	"co": true, "company": true, "gmbh": true, "ag": true, "se": true, "kg": true, "sa": true, "sas": true, "sarl": true, "srl": true,
	"spa": true, "bv": true, "nv": true, "ab": true, "as": true, "oy": true, "pty": true, "the": true,
}
