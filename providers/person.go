package providers

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"backstop/lead"
)

// combined turns the person and the company of an answer, either of which may be
// null, into an Answer. Clearbit and Hunter use the same form. It is
//
//   - no_data when both are null, when they hold no value, or when the person has
//     another address than the one asked about: an answer about somebody else;
//   - partial when one of the two is null or a wanted field is still open;
//   - ok otherwise.
func (v *vendor) combined(q question, person, company node) Answer {
	if q.isAboutAnother(person) {
		return Answer{Class: lead.ClassNoData, Detail: somebodyElse}
	}
	p := lead.Profile{}
	readPerson(p, person)
	readCompany(p, person, company)
	detail := dropMailHost(p, q.lead)
	if len(p) == 0 {
		return Answer{Class: lead.ClassNoData, Detail: noValue}
	}
	set(p, lead.PersonEmail, email(person))
	a := Answer{Class: v.fullness(q, p), Detail: detail, Profile: p, AsOf: v.indexedAt(person, company)}
	switch {
	case person.isEmpty():
		a.Class, a.Detail = lead.ClassPartial, "no person"
	case company.isEmpty():
		a.Class, a.Detail = lead.ClassPartial, "no company"
	}
	return a
}

// people is combined for an answer that has nothing but the person.
func (v *vendor) people(q question, person node) Answer {
	a := v.combined(q, person, node{})
	if a.Class.HasData() {
		a.Class, a.Detail = v.fullness(q, a.Profile), ""
	}
	return a
}

// companies turns a company that was asked about by its domain into an Answer.
func (v *vendor) companies(q question, domain string, company node) Answer {
	if d := lead.NormalizeDomain(text(company.at("domain"))); d != "" && !lead.SameSite(d, domain) {
		return Answer{Class: lead.ClassNoData, Detail: "answer is about another company"}
	}
	p := lead.Profile{}
	readCompany(p, node{}, company)
	if len(p) == 0 || len(p) == 1 && p[lead.CompanyDomain] != "" {
		return Answer{Class: lead.ClassNoData, Detail: noValue}
	}
	return Answer{Class: v.fullness(q, p), Profile: p, AsOf: v.indexedAt(node{}, company)}
}

// noValue is how an answer is described that tells nothing beyond what was asked.
const noValue = "an answer without a value"

// fullness is ok when p and what the lead came with leave none of the wanted
// fields open, partial otherwise. Without wanted fields, those count that were
// missing when the call was planned.
func (v *vendor) fullness(q question, p lead.Profile) lead.Class {
	want, own := v.Want, q.lead.Profile()
	if len(want) == 0 {
		want, own = q.missing, nil
	}
	for _, f := range p.Missing(want) {
		if own[f] == "" {
			return lead.ClassPartial
		}
	}
	return lead.ClassOK
}

// email is the person's address in the spelling of [lead.NormalizeEmail], or ""
// when there is none that is one.
func email(person node) string {
	s := text(person.at("email"))
	if placeholders[strings.ToLower(s)] {
		return ""
	}
	e, err := lead.NormalizeEmail(s)
	if err != nil {
		return "" // not an address: as good as none
	}
	return e
}

func readPerson(p lead.Profile, person node) {
	name, job := person.at("name"), person.at("employment")
	given, family := text(name.at("givenName")), text(name.at("familyName"))
	set(p, lead.PersonGivenName, given)
	set(p, lead.PersonFamilyName, family)
	set(p, lead.PersonName, text(name.at("fullName")))
	set(p, lead.PersonName, strings.TrimSpace(given+" "+family))
	set(p, lead.PersonTitle, text(job.at("title")))
	set(p, lead.PersonRole, text(job.at("role")))
	set(p, lead.PersonSeniority, text(job.at("seniority")))
	set(p, lead.PersonLinkedIn, linkedIn(person, "in/"))
	set(p, lead.PersonLocation, text(person.at("location")))
	set(p, lead.PersonLocation, place(person.at("geo")))
	set(p, lead.PersonPhone, text(person.at("phone")))
}

func readCompany(p lead.Profile, person, company node) {
	domain := lead.NormalizeDomain(text(company.at("domain")))
	set(p, lead.CompanyName, text(company.at("name")))
	set(p, lead.CompanyDomain, domain)
	job := person.at("employment")
	employer := lead.NormalizeDomain(text(job.at("domain")))
	if domain == "" || employer == "" || domain == employer { // else it is another company
		set(p, lead.CompanyName, text(job.at("name")))
		set(p, lead.CompanyDomain, employer)
	}
	set(p, lead.CompanyIndustry, text(company.at("category", "industry")))
	set(p, lead.CompanyHeadcount, headcount(company.at("metrics", "employees")))
	set(p, lead.CompanyHeadcount, headcount(company.at("metrics", "employeesRange")))
	set(p, lead.CompanyLocation, text(company.at("location")))
	set(p, lead.CompanyLocation, place(company.at("geo")))
	set(p, lead.CompanyPhone, text(company.at("phone")))
	set(p, lead.CompanyLinkedIn, linkedIn(company, "company/"))
}

// dropMailHost removes a company that is only where the person's mail is kept:
// else everybody with such an address would work for the mail provider. It stays
// when the lead itself came with that domain.
func dropMailHost(p lead.Profile, l lead.Lead) (detail string) {
	d := p[lead.CompanyDomain]
	if !lead.IsFreeMail(d) || d == lead.NormalizeDomain(l.Domain) {
		return ""
	}
	for f := range p {
		if strings.HasPrefix(string(f), "company.") {
			delete(p, f)
		}
	}
	return "the company was a mail provider"
}

// set fills a blank. Placeholders are no values.
func set(p lead.Profile, f lead.Field, value string) {
	if value == "" || p[f] != "" || isPlaceholder(f, value) {
		return
	}
	p[f] = value
}

// placeholders are what vendors write where they have nothing, or nothing that
// the plan includes.
var placeholders = map[string]bool{
	"email_not_unlocked@domain.com": true, "n/a": true, "na": true, "none": true, "null": true, "nil": true,
	"undefined": true, "unknown": true, "not available": true, "not found": true, "redacted": true,
	"[redacted]": true, "nan": true,
}

// isPlaceholder reports whether the value stands for none. Null, None and Na are
// names of people too, so that for parts of a name only signs without a letter
// or digit count.
func isPlaceholder(f lead.Field, value string) bool {
	if !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return true
	}
	if f == lead.PersonGivenName || f == lead.PersonFamilyName {
		return false
	}
	return placeholders[strings.ToLower(value)]
}

// text is n's text in the spelling that is stored: what would do as a lead's
// name, so NFC, of bounded length, without control characters. Anything else,
// also a number, is "".
func text(n node) string {
	s, ok := n.v.(string)
	if !ok {
		return ""
	}
	l, err := lead.Normalize(lead.Lead{Name: s})
	if err != nil {
		return "" // blank or too long
	}
	return l.Name
}

// linkedIn is the profile behind linkedin.handle, which has no host and in some
// answers no "in/" either.
func linkedIn(n node, folder string) string {
	h := text(n.at("linkedin", "handle"))
	if h == "" || placeholders[strings.ToLower(h)] {
		return ""
	}
	if !strings.Contains(h, "/") {
		h = folder + h
	}
	return lead.NormalizeLinkedIn(h)
}

// place puts a geo object into words: city, state, country.
func place(geo node) string {
	var parts []string
	for _, key := range []string{"city", "state", "country"} {
		if s := text(geo.at(key)); s != "" && !placeholders[strings.ToLower(s)] {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ", ")
}

// rangeForm is a number of employees or a range of it in the ways of both
// vendors: "51-250", "1K-5K", "10001+".
var rangeForm = regexp.MustCompile(`^\d{1,9}K?(-\d{1,9}K?|\+)?$`)

// headcount reads metrics.employees, which is a number in one of Hunter's schemas
// and a range in the other, and employeesRange.
func headcount(n node) string {
	if s := text(n); s != "" {
		s = strings.ToUpper(strings.NewReplacer(" ", "", ",", "", "–", "-").Replace(s))
		if s == "0" || !rangeForm.MatchString(s) {
			return ""
		}
		return s
	}
	if count := n.number(); count >= 1 && count <= 1e8 {
		return strconv.FormatFloat(count, 'f', 0, 64)
	}
	return ""
}

// indexedAt is when the data was true: the older of what person and company say,
// because nothing in the answer is older than that. The zero time if neither says.
func (v *vendor) indexedAt(person, company node) time.Time {
	var oldest time.Time
	for _, n := range []node{person, company} {
		t := isoTime(text(n.at("indexedAt")))
		if t.IsZero() || t.After(v.Now().Add(24*time.Hour)) {
			continue
		}
		if oldest.IsZero() || t.Before(oldest) {
			oldest = t
		}
	}
	return oldest
}

func isoTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
