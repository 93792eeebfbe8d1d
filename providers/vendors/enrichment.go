package vendors

import (
	"slices"
	"strings"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
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
func openParts(q profile.Question) (person, company bool) {
	for _, f := range q.Missing {
		switch {
		case f == lead.PersonEmailStatus, f == lead.PersonEmail && q.Lead.Email != "":
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
func (v *vendor) planEnrichment(q profile.Question) (c providers.Call, why string) {
	person, company := openParts(q)
	domain := q.Domain()
	switch {
	case !person && !company:
		return providers.Call{}, profile.NothingToAdd
	case company && domain != "" && (!person || q.Lead.Email == ""):
		c = profile.AboutCompany(v.Base, domain, companiesFind)
		if _, host, ok := strings.Cut(q.Lead.Email, "@"); ok && lead.SameSite(host, domain) {
			c.Within = combinedFind // which looks for the company of the address
		}
	case q.Lead.Email == "":
		return providers.Call{}, profile.NoEmail
	case !company:
		c = profile.About(v.Base, q.Lead, peopleFind)
		c.Within = combinedFind
	default:
		c = profile.About(v.Base, q.Lead, combinedFind)
	}
	return c, ""
}

// enriched reads the answer of one of the three endpoints. Only that of
// combined/find has person and company side by side; those of the others are the
// object itself.
func (v *vendor) enriched(q profile.Question, endpoint string, data httpjson.Node) providers.Answer {
	switch {
	case endpoint == combinedFind && data.Has("person", "company"):
		return v.combined(q, data.At("person"), data.At("company"))
	case endpoint == combinedFind:
	case data.IsEmpty():
		return providers.Answer{Class: lead.ClassNoData, Detail: profile.NoValue}
	case endpoint == peopleFind && data.Has("id", "name", "email", "employment", "linkedin"):
		return v.people(q, data)
	case endpoint == companiesFind && data.Has("id", "name", "domain", "category", "metrics"):
		return v.companies(q, q.Domain(), data)
	}
	return providers.Answer{Class: lead.ClassTransient, Detail: httpjson.Undocumented}
}

// misses reports whether one of the fields is missing.
func misses(q profile.Question, fields ...lead.Field) bool {
	return slices.ContainsFunc(q.Missing, func(m lead.Field) bool { return slices.Contains(fields, m) })
}
