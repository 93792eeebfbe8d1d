package intake

import (
	"strings"

	"backstop/lead"
)

// A target is what a column can be for.
type target int

const (
	tEmail target = iota
	tSourceID
	tName
	tGivenName
	tFamilyName
	tTitle
	tCompany
	tDomain
	tLinkedIn
	tPhone
	tLocation
	tSource
	tWebsite // a domain if it holds one
	tURL     // a LinkedIn profile or a website
	tCity
	tState
	tCountry
	tDeleted    // yes or no
	tOptOut     // yes or no
	tOptOutTime // filled or not
	tStatus     // a word
	tSkip       // yes or no
	tRole
	tSeniority
	tEmailStatus
	tIndustry
	tHeadcount
	tCompanyLocation
	tCompanyPhone
	tCompanyLinkedIn
	tAsOf
	numTargets
)

// names of the targets, as they are shown and as --map takes them.
var names = [numTargets]string{
	tEmail: "email", tSourceID: "source_id", tName: "name", tGivenName: "given_name", tFamilyName: "family_name",
	tTitle: "title", tCompany: "company", tDomain: "domain", tLinkedIn: "linkedin", tPhone: "phone",
	tLocation: "location", tSource: "source", tWebsite: "website", tURL: "url", tCity: "city", tState: "state",
	tCountry: "country", tDeleted: "deleted", tOptOut: "opt_out", tOptOutTime: "opt_out_time", tStatus: "status",
	tSkip: "skip", tRole: "role", tSeniority: "seniority", tEmailStatus: "email_status", tIndustry: "industry",
	tHeadcount: "headcount", tCompanyLocation: "company_location", tCompanyPhone: "company_phone",
	tCompanyLinkedIn: "company_linkedin", tAsOf: "as_of",
}

// values are a row's cells by what they are for.
type values [numTargets]string

// skip says why a row is to be skipped, "" if it is not. It comes before any check of
// the values: a deleted row need not be a correct one.
func (it *item) skip() string {
	v := &it.values
	switch {
	case it.reject != nil:
	case it.empty:
		return SkipEmpty
	case says(v[tDeleted]):
		return SkipDeleted
	case says(v[tOptOut]), !isBlank(v[tOptOutTime]), isOptOut(v[tStatus]):
		return SkipUnsubscribed
	case says(v[tSkip]):
		return SkipMarked
	}
	return ""
}

// says reports whether a yes-or-no cell says yes. What is not clearly a no is a
// yes: in the columns it is used for, a yes means that the row must be skipped.
func says(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "false", "f", "no", "n", "0", "off", "none", "null", "nil", "-", "n/a", "nein", "non", "falsch", "faux", "falso":
		return false
	}
	return !isBlank(s)
}

func isOptOut(s string) bool {
	switch key(s) {
	case "unsubscribed", "cleaned", "optedout", "optout", "optedoutofemail", "donotcontact", "donotemail", "deleted", "archived", "noconsent":
		return true
	}
	return false
}

// lead is the row's values as a lead, not yet normalised.
func (v *values) lead(source string) lead.Lead {
	l := lead.Lead{
		Source: source, SourceID: v[tSourceID], Email: v[tEmail],
		Name: v[tName], GivenName: v[tGivenName], FamilyName: v[tFamilyName],
		Title: v[tTitle], Company: v[tCompany], Domain: v[tDomain],
		LinkedIn: v[tLinkedIn], Phone: v[tPhone], Location: v[tLocation],
	}
	if !isBlank(v[tSource]) {
		l.Source = v[tSource]
	}
	// A website column holds whatever people typed there. It is used where it is
	// a domain and is no reason to refuse a row where it is not.
	website := v[tWebsite]
	if url := v[tURL]; strings.Contains(strings.ToLower(url), "linkedin.com/") {
		if isBlank(l.LinkedIn) {
			l.LinkedIn = url
		}
	} else if isBlank(website) {
		website = url
	}
	if isBlank(l.Domain) && len(website) <= lead.MaxFieldLength {
		l.Domain = lead.NormalizeDomain(website)
	}
	if isBlank(l.Location) {
		l.Location = joinFilled(", ", v[tCity], v[tState], v[tCountry])
	}
	return l
}

func joinFilled(sep string, parts ...string) string {
	var filled []string
	for _, p := range parts {
		if !isBlank(p) {
			filled = append(filled, strings.TrimSpace(p))
		}
	}
	return strings.Join(filled, sep)
}

// plain takes off what spreadsheets and exports put around a value to keep it
// from being calculated: ="00123" is 00123, and '=1 or '+49 has no quote.
func plain(s string) string {
	if len(s) >= 3 && s[0] == '=' && s[1] == '"' && s[len(s)-1] == '"' {
		return s[2 : len(s)-1]
	}
	if len(s) >= 2 && s[0] == '\'' && strings.IndexByte("=+-@", s[1]) >= 0 {
		return s[1:]
	}
	return s
}
