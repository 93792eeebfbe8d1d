package vendors

import (
	"net/url"
	"slices"
	"strings"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
)

// seeksAddress reports whether the finder can be asked for an address: there is a
// name and a company, and no address, or one that another provider found and that
// turned out not to be valid ([lead.Facts.Open]). When all else that is missing
// came with the lead, an address that it came with is only to be confirmed.
func seeksAddress(q profile.Question) bool {
	n := q.Named()
	if n.Name == "" || n.Domain == "" && n.Company == "" || !misses(q, lead.PersonEmail) {
		return false
	}
	if q.Lead.Email == "" {
		return true
	}
	own := q.Lead.Profile()
	return !slices.ContainsFunc(q.Missing, func(f lead.Field) bool { return f != lead.PersonEmail && own[f] != "" })
}

// finder asks for the address of a person.
func (h *hunter) finder(n profile.Named) hunterCall {
	query := url.Values{}
	if n.Domain != "" {
		query.Set("domain", n.Domain)
	} else {
		query.Set("company", n.Company)
	}
	if n.Given != "" && n.Family != "" {
		query.Set("first_name", n.Given)
		query.Set("last_name", n.Family)
	} else {
		query.Set("full_name", n.Name)
	}
	return hunterCall{
		path: "/v2/" + emailFinder, query: query,
		read: func(q profile.Question, data httpjson.Node) providers.Answer { return h.foundAddress(q, n, data) },
		free: func(data httpjson.Node) bool { return profile.Email(data) == "" },
	}
}

// foundAddress reads the finder's answer. Without a result its address is null.
func (h *hunter) foundAddress(q profile.Question, n profile.Named, data httpjson.Node) providers.Answer {
	if !data.Has("email") {
		return providers.Answer{Class: lead.ClassTransient, Detail: httpjson.Undocumented}
	}
	address := profile.Email(data)
	if address == "" {
		return providers.Answer{Class: lead.ClassNoData, Detail: "no address was found"}
	}
	given, family := profile.Text(data.At("first_name")), profile.Text(data.At("last_name"))
	name := strings.TrimSpace(given + " " + family)
	if name == "" {
		name = profile.Text(data.At("full_name"))
	}
	_, host, _ := strings.Cut(address, "@")
	if !isAt(n, host, lead.NormalizeDomain(profile.Text(data.At("domain"))), profile.Text(data.At("company"))) || !lead.NamesAgree(n.Name, name) {
		return providers.Answer{Class: lead.ClassNoData, Detail: providers.SomebodyElse}
	}
	p := lead.Profile{}
	profile.Set(p, lead.PersonEmail, address)
	if state := profile.Text(data.At("verification", "status")); slices.Contains(profile.EmailStates, state) {
		p[lead.PersonEmailStatus] = state
	}
	profile.Set(p, lead.PersonGivenName, given)
	profile.Set(p, lead.PersonFamilyName, family)
	profile.Set(p, lead.PersonName, name)
	profile.Set(p, lead.PersonTitle, profile.Text(data.At("position")))
	profile.Set(p, lead.PersonLinkedIn, lead.NormalizeLinkedIn(profile.Text(data.At("linkedin_url"))))
	profile.Set(p, lead.PersonPhone, profile.Text(data.At("phone_number")))
	profile.Set(p, lead.CompanyName, profile.Text(data.At("company")))
	profile.Set(p, lead.CompanyDomain, lead.NormalizeDomain(profile.Text(data.At("domain"))))
	detail := profile.DropMailHost(p, q.Lead)
	a := providers.Answer{Class: profile.Fullness(h.Want, q, p), Detail: detail, Profile: p}
	if score, ok := data.At("score").Numeric(); ok && score >= 0 && score <= 100 {
		a.Confidence = score / 100
	}
	return a
}

// isAt reports whether an address that was found is one at the company that was
// asked for: at its domain, or at another one of a company of which the answer says
// that its domain, or where only a name was asked for, its name, is that one.
func isAt(n profile.Named, host, domain, company string) bool {
	if n.Domain != "" {
		return lead.SameSite(n.Domain, host) || domain != "" && lead.SameSite(n.Domain, domain) && !lead.IsFreeMail(host)
	}
	return company == "" || lead.SameCompany(n.Company, company)
}
