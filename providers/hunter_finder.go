package providers

import (
	"net/url"
	"slices"
	"strings"

	"backstop/lead"
)

// seeksAddress reports whether the finder can be asked for an address: there is a
// name and a company, and no address, or one that another provider found and that
// turned out not to be valid ([lead.Facts.Open]). When all else that is missing
// came with the lead, an address that it came with is only to be confirmed.
func (q question) seeksAddress() bool {
	n := q.named()
	if n.name == "" || n.domain == "" && n.company == "" || !q.misses(lead.PersonEmail) {
		return false
	}
	if q.lead.Email == "" {
		return true
	}
	own := q.lead.Profile()
	return !slices.ContainsFunc(q.missing, func(f lead.Field) bool { return f != lead.PersonEmail && own[f] != "" })
}

// finder asks for the address of a person.
func (h *hunter) finder(n named) hunterCall {
	query := url.Values{}
	if n.domain != "" {
		query.Set("domain", n.domain)
	} else {
		query.Set("company", n.company)
	}
	if n.given != "" && n.family != "" {
		query.Set("first_name", n.given)
		query.Set("last_name", n.family)
	} else {
		query.Set("full_name", n.name)
	}
	return hunterCall{
		path: "/v2/" + emailFinder, query: query,
		read: func(q question, data node) Answer { return h.foundAddress(q, n, data) },
		free: func(data node) bool { return email(data) == "" },
	}
}

// foundAddress reads the finder's answer. Without a result its address is null.
func (h *hunter) foundAddress(q question, n named, data node) Answer {
	if !data.has("email") {
		return Answer{Class: lead.ClassTransient, Detail: undocumented}
	}
	address := email(data)
	if address == "" {
		return Answer{Class: lead.ClassNoData, Detail: "no address was found"}
	}
	given, family := text(data.at("first_name")), text(data.at("last_name"))
	name := strings.TrimSpace(given + " " + family)
	if name == "" {
		name = text(data.at("full_name"))
	}
	_, host, _ := strings.Cut(address, "@")
	if !n.isAt(host, lead.NormalizeDomain(text(data.at("domain"))), text(data.at("company"))) || !lead.NamesAgree(n.name, name) {
		return Answer{Class: lead.ClassNoData, Detail: somebodyElse}
	}
	p := lead.Profile{}
	set(p, lead.PersonEmail, address)
	if state := text(data.at("verification", "status")); slices.Contains(hunterEmailStates, state) {
		p[lead.PersonEmailStatus] = state
	}
	set(p, lead.PersonGivenName, given)
	set(p, lead.PersonFamilyName, family)
	set(p, lead.PersonName, name)
	set(p, lead.PersonTitle, text(data.at("position")))
	set(p, lead.PersonLinkedIn, lead.NormalizeLinkedIn(text(data.at("linkedin_url"))))
	set(p, lead.PersonPhone, text(data.at("phone_number")))
	set(p, lead.CompanyName, text(data.at("company")))
	set(p, lead.CompanyDomain, lead.NormalizeDomain(text(data.at("domain"))))
	detail := dropMailHost(p, q.lead)
	a := Answer{Class: h.fullness(q, p), Detail: detail, Profile: p}
	if score, ok := data.at("score").numeric(); ok && score >= 0 && score <= 100 {
		a.Confidence = score / 100
	}
	return a
}

// isAt reports whether an address that was found is one at the company that was
// asked for: at its domain, or at another one of a company of which the answer says
// that its domain, or where only a name was asked for, its name, is that one.
func (n named) isAt(host, domain, company string) bool {
	if n.domain != "" {
		return lead.SameSite(n.domain, host) || domain != "" && lead.SameSite(n.domain, domain) && !lead.IsFreeMail(host)
	}
	return company == "" || lead.SameCompany(n.company, company)
}
