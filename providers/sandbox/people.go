package sandbox

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"backstop/lead"
)

// Person is everything that is to be known of the person with the address and of
// their company. Each provider tells a part of it. An address that looks like
// first.last@… is of somebody with that name, and the company is the owner of
// the domain unless that is a free-mail host.
func Person(email string) lead.Profile {
	email = strings.ToLower(email)
	k := key(email)
	given, family := nameOf(email)
	does, lives := pick(jobs, "job", k), pick(places, "lives", k)
	p := lead.Profile{
		lead.PersonName: given + " " + family, lead.PersonGivenName: given, lead.PersonFamilyName: family,
		lead.PersonEmail: email, lead.PersonEmailStatus: stateOf(email),
		lead.PersonTitle: does.title, lead.PersonRole: does.role, lead.PersonSeniority: does.seniority,
		lead.PersonLinkedIn: "linkedin.com/in/" + handle(given+family) + strconv.FormatUint(hash(0, "in", k)%1000, 10),
		lead.PersonLocation: lives.String(),
		lead.PersonPhone:    phone(k),
	}
	company, domain := companyOf(email)
	p[lead.CompanyName], p[lead.CompanyDomain] = company, domain
	p[lead.CompanyIndustry] = pick(industries, "industry", domain)
	p[lead.CompanyHeadcount] = headcount(domain)
	p[lead.CompanyLocation] = pick(places, "seat", domain).String()
	p[lead.CompanyPhone] = phone(domain)
	p[lead.CompanyLinkedIn] = "linkedin.com/company/" + handle(company)
	for f, v := range p {
		if v == "" {
			delete(p, f)
		}
	}
	return p
}

// AddressOf is the address of a person who is known by name and by the company's
// name or domain.
func AddressOf(name, company, domain string) string {
	if domain == "" {
		if handle(company) == "" {
			company = pick(firstWords, "first", name) + " " + pick(secondWords, "second", name)
		}
		domain = domainOf(company)
	}
	var parts []string
	for _, w := range strings.Fields(name) {
		if w = handle(w); w != "" {
			parts = append(parts, w)
		}
	}
	if len(parts) == 0 {
		parts = []string{"x" + strconv.FormatUint(hash(0, "local", name), 36)}
	}
	return strings.Join(parts, ".") + "@" + domain
}

// AsOf is when what is known of a person was true.
func AsOf(email string) time.Time {
	days := time.Duration(hash(0, "as of", key(email)) % 365)
	return time.Date(2025, 1, 1, 8, 30, 0, 0, time.UTC).Add(days * 24 * time.Hour)
}

func nameOf(email string) (given, family string) {
	local, _, _ := strings.Cut(email, "@")
	local, _, _ = strings.Cut(local, "+")
	parts := strings.FieldsFunc(local, func(r rune) bool { return r == '.' || r == '_' || r == '-' })
	if len(parts) >= 2 && isWord(parts[0]) && isWord(parts[1]) {
		title := cases.Title(language.Und)
		return title.String(parts[0]), title.String(parts[1])
	}
	return pick(givenNames, "given", key(email)), pick(familyNames, "family", key(email))
}

func isWord(s string) bool { return len(s) > 1 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == "" }

// companyOf is the owner of the address's domain, or an invented employer.
func companyOf(email string) (name, domain string) {
	_, host, _ := strings.Cut(email, "@")
	if lead.IsFreeMail(host) {
		name = pick(firstWords, "first", key(email)) + " " + pick(secondWords, "second", key(email))
		return name, domainOf(name)
	}
	label, _, _ := strings.Cut(host, ".")
	return cases.Title(language.Und).String(strings.ReplaceAll(label, "-", " ")), host
}

func domainOf(company string) string {
	var words []string
	for _, w := range strings.Fields(company) {
		if w = handle(w); w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, "-") + ".example"
}

// headcount is a number for some companies and a range for others, as vendors
// give it in different schemas.
func headcount(domain string) string {
	if hash(0, "range", domain)%3 == 0 {
		return pick(ranges, "headcount", domain)
	}
	return strconv.FormatUint(3+hash(0, "headcount", domain)%4000, 10)
}

// phone is one of the numbers that are kept free for fiction in North America.
func phone(of string) string { return fmt.Sprintf("+1 555-555-01%02d", hash(0, "phone", of)%100) }

// handle is s in lower-case ASCII letters and digits.
func handle(s string) string {
	s = strings.NewReplacer("ø", "o", "ı", "i", "ł", "l").Replace(strings.ToLower(s))
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, norm.NFD.String(s))
}

// stateOf is the state of an address in the words of Hunter's verifier.
func stateOf(email string) string {
	_, host, _ := strings.Cut(email, "@")
	if lead.IsFreeMail(host) {
		return "webmail"
	}
	return pick([]string{"valid", "valid", "valid", "valid", "accept_all", "unknown", "invalid"}, "state", key(email))
}

// isRole reports whether an address is of an office, not of a person.
func isRole(email string) bool {
	local, _, _ := strings.Cut(email, "@")
	return slices.Contains(roles, local)
}

func (g geo) String() string {
	parts := slices.DeleteFunc([]string{g.city, g.state, g.country}, func(s string) bool { return s == "" })
	return strings.Join(parts, ", ")
}
