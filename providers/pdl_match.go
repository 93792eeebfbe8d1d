package providers

import (
	"cmp"
	"slices"
	"strings"

	"backstop/lead"
)

// A match is a person as People Data Labs knows them.
type match struct {
	data      node
	addresses []string // the best one first
	name      string
	company   string
	domain    string
	linkedIn  string
}

// readMatch reads what tells who it is. Where the plan does not include a value, the
// API gives true instead; that is as good as none.
func readMatch(data node) match {
	m := match{
		data:     data,
		name:     text(data.at("full_name")),
		company:  text(data.at("job_company_name")),
		domain:   lead.NormalizeDomain(text(data.at("job_company_website"))),
		linkedIn: lead.NormalizeLinkedIn(text(data.at("linkedin_url"))),
	}
	if m.name == "" {
		m.name = strings.TrimSpace(text(data.at("first_name")) + " " + text(data.at("last_name")))
	}
	for _, key := range []string{"work_email", "recommended_personal_email", "personal_emails", "emails"} {
		for _, n := range data.at(key).list() {
			if n.has("address") {
				n = n.at("address")
			}
			if e := email(node{map[string]any{"email": n.v}}); e != "" && !slices.Contains(m.addresses, e) {
				m.addresses = append(m.addresses, e)
			}
		}
	}
	return m
}

// isAskedBy reports whether the match is the person who was asked about. What it
// looks at is part of the call's Subject and Variant, so that it holds for everybody
// who asks the same.
//
// Asked by address, the match must have that address: one that lists others only is
// somebody else, perhaps a colleague. Where it lists none, the likelihood has to do, or
// without one, that it works where the address is. Asked otherwise, the profile must be
// the one asked for, or the name and the company must agree.
func (m match) isAskedBy(q question, likely bool) bool {
	if q.lead.Email != "" {
		if len(m.addresses) > 0 {
			return m.has(q.lead.Email)
		}
		return likely || m.isAtHostOf(q.lead.Email)
	}
	n := q.named()
	asked := lead.NormalizeLinkedIn(q.lead.LinkedIn)
	if asked != "" && strings.EqualFold(asked, m.linkedIn) {
		return lead.NamesAgree(n.name, m.name)
	}
	if n.domain == "" && n.company == "" && asked != "" && m.linkedIn != "" {
		return false // another profile, and nothing else to tell by
	}
	return n.agrees(m.name, m.domain, m.company)
}

func (m match) has(address string) bool {
	asked, err := lead.NormalizeEmail(address)
	return err == nil && slices.ContainsFunc(m.addresses, func(a string) bool { return lead.EmailKey(a) == lead.EmailKey(asked) })
}

// isAtHostOf reports whether the match works for the owner of the address's host.
func (m match) isAtHostOf(address string) bool {
	asked, err := lead.NormalizeEmail(address)
	_, host, _ := strings.Cut(asked, "@")
	return err == nil && host != "" && !lead.IsFreeMail(host) && m.domain != "" && lead.SameSite(m.domain, host)
}

// profile is the match in the common form.
func (m match) profile(q question) lead.Profile {
	d, p := m.data, lead.Profile{}
	set(p, lead.PersonName, capitalName(m.name))
	set(p, lead.PersonGivenName, capitalName(text(d.at("first_name"))))
	set(p, lead.PersonFamilyName, capitalName(text(d.at("last_name"))))
	set(p, lead.PersonEmail, m.address(q.lead.Email))
	set(p, lead.PersonTitle, capitalText(text(d.at("job_title"))))
	set(p, lead.PersonRole, text(d.at("job_title_role")))
	set(p, lead.PersonSeniority, first(d.at("job_title_levels")))
	set(p, lead.PersonLinkedIn, m.linkedIn)
	set(p, lead.PersonLocation, capitalText(text(d.at("location_name"))))
	set(p, lead.PersonPhone, cmp.Or(text(d.at("mobile_phone")), first(d.at("phone_numbers"))))
	set(p, lead.CompanyName, capitalText(m.company))
	set(p, lead.CompanyDomain, m.domain)
	set(p, lead.CompanyIndustry, capitalText(text(d.at("job_company_industry"))))
	set(p, lead.CompanyHeadcount, headcount(d.at("job_company_employee_count")))
	set(p, lead.CompanyHeadcount, headcount(d.at("job_company_size")))
	set(p, lead.CompanyLocation, capitalText(text(d.at("job_company_location_name"))))
	set(p, lead.CompanyLinkedIn, lead.NormalizeLinkedIn(text(d.at("job_company_linkedin_url"))))
	return p
}

// address is the one that was asked about if the match has it, and for somebody who
// was asked about without one the best that it has.
func (m match) address(asked string) string {
	if asked == "" {
		if len(m.addresses) > 0 {
			return m.addresses[0]
		}
		return ""
	}
	if !m.has(asked) {
		return ""
	}
	address, _ := lead.NormalizeEmail(asked) // it is one, because the match has it
	return address
}

// first is the first text of a list, or n itself if it is text.
func first(n node) string {
	for _, e := range n.list() {
		if s := text(e); s != "" {
			return s
		}
	}
	return ""
}
