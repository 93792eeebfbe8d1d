package lead

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// roles are the local parts of addresses that belong to an office instead of a
// person, without their dots and hyphens. RFC 2142 has the first ones; the rest
// are those in common use.
var roles = map[string]bool{
	"info": true, "marketing": true, "sales": true, "support": true, "abuse": true, "noc": true, "security": true,
	"postmaster": true, "hostmaster": true, "webmaster": true, "www": true, "usenet": true, "news": true, "uucp": true, "ftp": true,
	"admin": true, "administrator": true, "accounting": true, "accounts": true, "all": true, "billing": true, "booking": true,
	"bookings": true, "buchhaltung": true, "careers": true, "commercial": true, "compliance": true, "contact": true, "contacto": true,
	"contactus": true, "customercare": true, "customerservice": true, "customersupport": true, "datenschutz": true, "enquiries": true,
	"enquiry": true, "events": true, "everyone": true, "feedback": true, "finance": true, "hello": true, "help": true, "helpdesk": true,
	"hi": true, "hr": true, "inquiries": true, "invoice": true, "invoices": true, "it": true, "jobs": true, "kontakt": true, "legal": true,
	"mail": true, "mailerdaemon": true, "media": true, "newsletter": true, "noreply": true, "notifications": true, "donotreply": true,
	"office": true, "operations": true, "order": true, "orders": true, "partners": true, "payments": true, "payroll": true, "press": true,
	"privacy": true, "procurement": true, "purchasing": true, "reception": true, "recruiting": true, "recruitment": true, "returns": true,
	"root": true, "service": true, "shop": true, "staff": true, "subscribe": true, "team": true, "tech": true, "techsupport": true,
	"unsubscribe": true, "ventas": true, "vertrieb": true, "welcome": true,
}

// IsRoleAddress reports whether a normalised address belongs to an office instead
// of a person: info@, sales@. A plus tag makes no difference.
func IsRoleAddress(email string) bool {
	local, _, ok := strings.Cut(email, "@")
	local, _, _ = strings.Cut(local, "+")
	bare := separators.Replace(local)
	if len(bare) > 3 { // what is shorter may be initials: h.r@
		local = bare
	}
	return ok && roles[local]
}

// separators are what stands between the words of an address's local part.
var separators = strings.NewReplacer(".", "", "-", "", "_", "")

// PersonKey stands for the person that a normalised lead is about, in one spelling
// for all the spellings of their address: without plus tags at any host, which
// is more than [EmailKey] does, and without dots where the mail host ignores them.
// A lead without an address is told by name and company, where a mail provider is
// none, or else by its LinkedIn profile. "" means that it cannot be told who it is:
// a name alone is that of many, and what is done to one of them must not be done to
// the others.
//
// It is for finding everything about a person, where to find too much is better
// than to miss something. It is personal data like the address itself.
func PersonKey(l Lead) string {
	if l.Email != "" {
		return EmailPersonKey(l.Email)
	}
	if companyKey(l.Domain, l.Company) != "" && isNamed(l.Name) {
		return NameKey(l.Name, l.Domain, l.Company)
	}
	return profileKey(l.LinkedIn)
}

// isNamed reports whether a name has more than initials, which many share.
func isNamed(name string) bool {
	return slices.ContainsFunc(nameWords(name), func(w string) bool { return utf8.RuneCountInString(w) > 1 })
}

// NameKey stands for those of a name at a company, which is known by its domain or
// else by name: "name:ann lee@acme.example". Without a company that is everybody of
// the name, so that it is no [PersonKey]: "name:ann lee@". Without a name it is "".
func NameKey(name, domain, company string) string {
	words := strings.Join(nameWords(name), " ")
	if words == "" {
		return ""
	}
	return "name:" + words + "@" + companyKey(domain, company)
}

func companyKey(domain, company string) string {
	if domain != "" && !IsFreeMail(domain) {
		return domain
	}
	return essence(company)
}

// profileKey stands for the owner of a LinkedIn profile, "" if it is the page of
// anything else, or no profile at all.
func profileKey(linkedIn string) string {
	p := strings.ToLower(NormalizeLinkedIn(linkedIn))
	for _, people := range []string{"linkedin.com/in/", "linkedin.com/pub/"} {
		if strings.HasPrefix(p, people) {
			return "profile:" + p
		}
	}
	return ""
}

// EmailPersonKey is [PersonKey] of a person who is known by a normalised address.
func EmailPersonKey(email string) string {
	key := EmailKey(email)
	local, host, ok := strings.Cut(key, "@")
	if !ok {
		return ""
	}
	local = untagged(local)
	if canonical := sameMail[host]; canonical != "" {
		host = canonical
	}
	return "email:" + local + "@" + host
}

// sameMail are hosts whose mailboxes are those of another host: Apple's
// (https://support.apple.com/102540) and Proton's
// (https://proton.me/support/pm-me-addresses).
var sameMail = map[string]string{
	"me.com": "icloud.com", "mac.com": "icloud.com",
	"protonmail.com": "proton.me", "pm.me": "proton.me",
}
