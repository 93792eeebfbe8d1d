package profile

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"backstop/lead"
	"backstop/providers/httpjson"
)

// Email is the person's address, "" if there is none.
func Email(person httpjson.Node) string { return Address(person.At("email")) }

// Address is n's text as an email address, "" if it is none.
func Address(n httpjson.Node) string {
	s := Text(n)
	if IsBlank(s) {
		return ""
	}
	e, err := lead.NormalizeEmail(s)
	if err != nil {
		return "" // not an address: as good as none
	}
	return e
}

// EmailStates are what may be known of an address; the words are those of Hunter's verifier.
var EmailStates = []string{"valid", "invalid", "accept_all", "webmail", "disposable", "unknown"}

func ReadPerson(p lead.Profile, person httpjson.Node) {
	name, job := person.At("name"), person.At("employment")
	given, family := Text(name.At("givenName")), Text(name.At("familyName"))
	Set(p, lead.PersonGivenName, given)
	Set(p, lead.PersonFamilyName, family)
	Set(p, lead.PersonName, Text(name.At("fullName")))
	Set(p, lead.PersonName, strings.TrimSpace(given+" "+family))
	Set(p, lead.PersonTitle, Text(job.At("title")))
	Set(p, lead.PersonRole, Text(job.At("role")))
	Set(p, lead.PersonSeniority, Text(job.At("seniority")))
	Set(p, lead.PersonLinkedIn, linkedIn(person, "in/"))
	Set(p, lead.PersonLocation, Text(person.At("location")))
	Set(p, lead.PersonLocation, Place(person.At("geo")))
	Set(p, lead.PersonPhone, Text(person.At("phone")))
}

func ReadCompany(p lead.Profile, person, company httpjson.Node) {
	domain := lead.NormalizeDomain(Text(company.At("domain")))
	Set(p, lead.CompanyName, Text(company.At("name")))
	Set(p, lead.CompanyDomain, domain)
	job := person.At("employment")
	employer := lead.NormalizeDomain(Text(job.At("domain")))
	if domain == "" || employer == "" || domain == employer { // else it is another company
		Set(p, lead.CompanyName, Text(job.At("name")))
		Set(p, lead.CompanyDomain, employer)
	}
	Set(p, lead.CompanyIndustry, Text(company.At("category", "industry")))
	Set(p, lead.CompanyHeadcount, Headcount(company.At("metrics", "employees")))
	Set(p, lead.CompanyHeadcount, Headcount(company.At("metrics", "employeesRange")))
	Set(p, lead.CompanyLocation, Text(company.At("location")))
	Set(p, lead.CompanyLocation, Place(company.At("geo")))
	Set(p, lead.CompanyPhone, Text(company.At("phone")))
	Set(p, lead.CompanyLinkedIn, linkedIn(company, "company/"))
}

// DropMailHost removes a company that is only where the person's mail is kept:
// else everybody with such an address would work for the mail provider. It stays
// when the lead itself came with that domain.
func DropMailHost(p lead.Profile, l lead.Lead) (detail string) {
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

// Set fills a blank. Placeholders are no values.
func Set(p lead.Profile, f lead.Field, value string) {
	if value == "" || p[f] != "" || IsPlaceholder(f, value) {
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

// IsPlaceholder reports whether the value stands for none. Null, None and Na are
// names of people too, so that for parts of a name only signs without a letter
// or digit count.
func IsPlaceholder(f lead.Field, value string) bool {
	if !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return true
	}
	if f == lead.PersonGivenName || f == lead.PersonFamilyName {
		return false
	}
	return IsBlank(value)
}

// IsBlank reports whether a text stands for no value: "n/a", "unknown".
func IsBlank(value string) bool { return placeholders[strings.ToLower(value)] }

// Text is n's text in the spelling that is stored: what would do as a lead's
// name, so NFC, of bounded length, without control characters. Anything else,
// also a number, is "".
func Text(n httpjson.Node) string {
	s, ok := n.V.(string)
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
func linkedIn(n httpjson.Node, folder string) string {
	h := Text(n.At("linkedin", "handle"))
	if h == "" || IsBlank(h) {
		return ""
	}
	if !strings.Contains(h, "/") {
		h = folder + h
	}
	return lead.NormalizeLinkedIn(h)
}

// Place puts a geo object into words: city, state, country.
func Place(geo httpjson.Node) string {
	var parts []string
	for _, key := range []string{"city", "state", "country"} {
		if s := Text(geo.At(key)); s != "" && !IsBlank(s) {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ", ")
}

// rangeForm is a number of employees or a range of it in the ways of both
// vendors: "51-250", "1K-5K", "10001+".
var rangeForm = regexp.MustCompile(`^\d{1,9}K?(-\d{1,9}K?|\+)?$`)

// Headcount reads metrics.employees, which is a number in one of Hunter's schemas
// and a range in the other, and employeesRange.
func Headcount(n httpjson.Node) string {
	if s := Text(n); s != "" {
		s = strings.ToUpper(strings.NewReplacer(" ", "", ",", "", "–", "-").Replace(s))
		if s == "0" || !rangeForm.MatchString(s) {
			return ""
		}
		return s
	}
	if count := n.Number(); count >= 1 && count <= 1e8 {
		return strconv.FormatFloat(count, 'f', 0, 64)
	}
	return ""
}

func ISOTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// Fullness is ok when p and what the lead came with leave none of the wanted
// fields open, partial otherwise. Without wanted fields, those count that were
// missing when the call was planned.
func Fullness(want []lead.Field, q Question, p lead.Profile) lead.Class {
	own := q.Lead.Profile()
	if len(want) == 0 {
		want, own = q.Missing, nil
	}
	for _, f := range p.Missing(want) {
		if own[f] == "" {
			return lead.ClassPartial
		}
	}
	return lead.ClassOK
}
