package vendors

import (
	"cmp"
	"slices"
	"strings"

	"backstop/lead"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
)

// A match is a person as People Data Labs knows them.
type match struct {
	data      httpjson.Node
	addresses []string // the best one first
	name      string
	company   string
	domain    string
	linkedIn  string
}

// readMatch reads what tells who it is. Where the plan does not include a value, the
// API gives true instead; that is as good as none.
func readMatch(data httpjson.Node) match {
	m := match{
		data:     data,
		name:     profile.Text(data.At("full_name")),
		company:  profile.Text(data.At("job_company_name")),
		domain:   lead.NormalizeDomain(profile.Text(data.At("job_company_website"))),
		linkedIn: lead.NormalizeLinkedIn(profile.Text(data.At("linkedin_url"))),
	}
	if m.name == "" {
		m.name = strings.TrimSpace(profile.Text(data.At("first_name")) + " " + profile.Text(data.At("last_name")))
	}
	for _, key := range []string{"work_email", "recommended_personal_email", "personal_emails", "emails"} {
		for _, n := range data.At(key).List() {
			if n.Has("address") {
				n = n.At("address")
			}
			if e := profile.Email(httpjson.Node{V: map[string]any{"email": n.V}}); e != "" && !slices.Contains(m.addresses, e) {
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
func (m match) isAskedBy(q profile.Question, likely bool) bool {
	if q.Lead.Email != "" {
		if len(m.addresses) > 0 {
			return m.has(q.Lead.Email)
		}
		return likely || m.isAtHostOf(q.Lead.Email)
	}
	n := q.Named()
	asked := lead.NormalizeLinkedIn(q.Lead.LinkedIn)
	if asked != "" && strings.EqualFold(asked, m.linkedIn) {
		return lead.NamesAgree(n.Name, m.name)
	}
	if n.Domain == "" && n.Company == "" && asked != "" && m.linkedIn != "" {
		return false // another profile, and nothing else to tell by
	}
	return n.Agrees(m.name, m.domain, m.company)
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
func (m match) profile(q profile.Question) lead.Profile {
	d, p := m.data, lead.Profile{}
	profile.Set(p, lead.PersonName, profile.CapitalName(m.name))
	profile.Set(p, lead.PersonGivenName, profile.CapitalName(profile.Text(d.At("first_name"))))
	profile.Set(p, lead.PersonFamilyName, profile.CapitalName(profile.Text(d.At("last_name"))))
	profile.Set(p, lead.PersonEmail, m.address(q.Lead.Email))
	profile.Set(p, lead.PersonTitle, profile.CapitalText(profile.Text(d.At("job_title"))))
	profile.Set(p, lead.PersonRole, profile.Text(d.At("job_title_role")))
	profile.Set(p, lead.PersonSeniority, first(d.At("job_title_levels")))
	profile.Set(p, lead.PersonLinkedIn, m.linkedIn)
	profile.Set(p, lead.PersonLocation, profile.CapitalText(profile.Text(d.At("location_name"))))
	profile.Set(p, lead.PersonPhone, cmp.Or(profile.Text(d.At("mobile_phone")), first(d.At("phone_numbers"))))
	profile.Set(p, lead.CompanyName, profile.CapitalText(m.company))
	profile.Set(p, lead.CompanyDomain, m.domain)
	profile.Set(p, lead.CompanyIndustry, profile.CapitalText(profile.Text(d.At("job_company_industry"))))
	profile.Set(p, lead.CompanyHeadcount, profile.Headcount(d.At("job_company_employee_count")))
	profile.Set(p, lead.CompanyHeadcount, profile.Headcount(d.At("job_company_size")))
	profile.Set(p, lead.CompanyLocation, profile.CapitalText(profile.Text(d.At("job_company_location_name"))))
	profile.Set(p, lead.CompanyLinkedIn, lead.NormalizeLinkedIn(profile.Text(d.At("job_company_linkedin_url"))))
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
func first(n httpjson.Node) string {
	for _, e := range n.List() {
		if s := profile.Text(e); s != "" {
			return s
		}
	}
	return ""
}
