package providers

import (
	"slices"
	"strings"

	"backstop/lead"
)

// The endpoints that Clearbit and Hunter share.
const (
	combinedFind  = "combined/find"
	peopleFind    = "people/find"
	companiesFind = "companies/find"
)

// openParts reports which parts of an answer are wanted: the person, the company.
// The state of an address is in neither, and another address than the one that is
// known is not to be had by asking for it.
func (q question) openParts() (person, company bool) {
	for _, f := range q.missing {
		switch {
		case f == lead.PersonEmailStatus, f == lead.PersonEmail && q.lead.Email != "":
		case strings.HasPrefix(string(f), "person."):
			person = true
		default:
			company = true
		}
	}
	return person, company
}

// planEnrichment chooses the endpoint that tells what is missing and no more, and
// gives the call without its Do. The company's own endpoint needs its domain; the
// person's and the combined one need an address.
func (v *vendor) planEnrichment(q question) (c Call, why string) {
	person, company := q.openParts()
	domain := q.domain()
	switch {
	case !person && !company:
		return Call{}, nothingToAdd
	case company && domain != "" && (!person || q.lead.Email == ""):
		c = v.aboutCompany(domain, companiesFind)
		if _, host, ok := strings.Cut(q.lead.Email, "@"); ok && lead.SameSite(host, domain) {
			c.Within = combinedFind // which looks for the company of the address
		}
	case q.lead.Email == "":
		return Call{}, noEmail
	case !company:
		c = v.about(q.lead, peopleFind)
		c.Within = combinedFind
	default:
		c = v.about(q.lead, combinedFind)
	}
	return c, ""
}

// enriched reads the answer of one of the three endpoints. Only that of
// combined/find has person and company side by side; those of the others are the
// object itself.
func (v *vendor) enriched(q question, endpoint string, data node) Answer {
	switch {
	case endpoint == combinedFind && data.has("person", "company"):
		return v.combined(q, data.at("person"), data.at("company"))
	case endpoint == combinedFind:
	case data.isEmpty():
		return Answer{Class: lead.ClassNoData, Detail: noValue}
	case endpoint == peopleFind && data.has("id", "name", "email", "employment", "linkedin"):
		return v.people(q, data)
	case endpoint == companiesFind && data.has("id", "name", "domain", "category", "metrics"):
		return v.companies(q, q.domain(), data)
	}
	return Answer{Class: lead.ClassTransient, Detail: undocumented}
}

// misses reports whether one of the fields is missing.
func (q question) misses(fields ...lead.Field) bool {
	return slices.ContainsFunc(q.missing, func(m lead.Field) bool { return slices.Contains(fields, m) })
}
