package chain

import (
	"slices"
	"strings"

	"backstop/lead"
)

// A Rule says when a provider is asked, beside its place in the chain. A provider
// that is passed over when its turn comes has had its turn, as one that cannot be
// asked about the lead: the trail says why, and it counts as a valid negative. What
// those behind it find does not bring it back, before or after a retry.
type Rule struct {
	// Fills are the fields that the provider is asked for. It is passed over when none
	// of them is missing. Empty: all that it knows.
	Fills []lead.Field
	// OnlyIf are conditions that the lead must meet, all of them.
	OnlyIf []Condition
	// Credits is the price of a call, in whatever unit the provider is paid in. Prices
	// has that of the endpoints that cost something else.
	Credits float64
	Prices  map[string]float64
}

// A Condition is something that a lead must have, or not be, for a provider to be
// asked about it.
type Condition string

// The conditions. What earlier providers found counts as well.
const (
	HasEmail    Condition = "has_email"
	HasName     Condition = "has_name"
	HasCompany  Condition = "has_company"  // a name or a domain
	HasDomain   Condition = "has_domain"   // the company's, or that of the address if it is no mail provider's
	HasLinkedIn Condition = "has_linkedin" // the person's profile
	NotFreeMail Condition = "not_free_mail"
	NotRole     Condition = "not_role" // no address of an office, such as info@
)

// Conditions lists the conditions.
var Conditions = []Condition{HasEmail, HasName, HasCompany, HasDomain, HasLinkedIn, NotFreeMail, NotRole}

// unmet is why a lead does not meet the condition, "" if it does.
func (c Condition) unmet(l lead.Lead) string {
	_, host, _ := strings.Cut(l.Email, "@")
	var met bool
	switch c {
	case HasEmail:
		met = l.Email != ""
	case HasName:
		met = l.Name != ""
	case HasCompany:
		met = l.Company != "" || l.InferredDomain() != ""
	case HasDomain:
		met = l.InferredDomain() != ""
	case HasLinkedIn:
		met = l.LinkedIn != ""
	case NotFreeMail:
		met = !lead.IsFreeMail(host)
	case NotRole:
		met = !lead.IsRoleAddress(l.Email)
	}
	if met {
		return ""
	}
	return "only asked if " + strings.ReplaceAll(string(c), "_", " ")
}

// passes reports whether the provider is to be asked about the lead, and for
// which of the open fields. why says what speaks against it.
func (r Rule) passes(l lead.Lead, open []lead.Field) (fields []lead.Field, why string) {
	for _, c := range r.OnlyIf {
		if why := c.unmet(l); why != "" {
			return nil, why
		}
	}
	if len(r.Fills) == 0 {
		return open, ""
	}
	for _, f := range open {
		if slices.Contains(r.Fills, f) {
			fields = append(fields, f)
		}
	}
	if len(fields) == 0 {
		return nil, "nothing is missing that it fills"
	}
	return fields, ""
}

// price is what a call to the endpoint costs.
func (r Rule) price(endpoint string) float64 {
	if p, ok := r.Prices[endpoint]; ok {
		return p
	}
	return r.Credits
}
