package lead

import (
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/unicode/norm"
)

// roles are the local parts of addresses that belong to an office instead of a
// person. RFC 2142 has the first ones; the rest are those in common use.
var roles = map[string]bool{
	"info": true, "marketing": true, "sales": true, "support": true, "abuse": true, "noc": true, "security": true,
	"postmaster": true, "hostmaster": true, "webmaster": true, "www": true, "usenet": true, "news": true, "uucp": true, "ftp": true,
	"admin": true, "administrator": true, "accounting": true, "accounts": true, "all": true, "billing": true, "booking": true,
	"bookings": true, "careers": true, "contact": true, "contactus": true, "customerservice": true, "enquiries": true, "enquiry": true,
	"everyone": true, "feedback": true, "finance": true, "hello": true, "help": true, "helpdesk": true, "hi": true, "hr": true,
	"inquiries": true, "invoice": true, "invoices": true, "it": true, "jobs": true, "kontakt": true, "legal": true, "mail": true,
	"mailer-daemon": true, "media": true, "no-reply": true, "noreply": true, "donotreply": true, "do-not-reply": true, "office": true,
	"order": true, "orders": true, "partners": true, "press": true, "privacy": true, "purchasing": true, "recruiting": true,
	"reception": true, "returns": true, "root": true, "service": true, "shop": true, "staff": true, "subscribe": true, "team": true,
	"tech": true, "unsubscribe": true, "welcome": true,
}

// IsRoleAddress reports whether a normalised address belongs to an office instead
// of a person: info@, sales@. A plus tag makes no difference.
func IsRoleAddress(email string) bool {
	local, _, ok := strings.Cut(email, "@")
	local, _, _ = strings.Cut(local, "+")
	return ok && roles[local]
}

// PersonKey stands for the person that a normalised lead is about, in one spelling
// for all the spellings of their address: without plus tags at any host, which
// is more than [EmailKey] does, and without dots where the mail host ignores them.
// A lead without an address is told by name and company. "" means that it cannot
// be told who it is.
//
// It is for finding everything about a person, where to find too much is better
// than to miss something. It is personal data like the address itself.
func PersonKey(l Lead) string {
	if l.Email != "" {
		return EmailPersonKey(l.Email)
	}
	name := strings.Join(nameWords(l.Name), " ")
	if name == "" {
		return ""
	}
	company := l.Domain
	if company == "" {
		company = essence(l.Company)
	}
	return "name:" + name + "@" + company
}

// EmailPersonKey is [PersonKey] of a person who is known by a normalised address.
func EmailPersonKey(email string) string {
	key := EmailKey(email)
	local, host, ok := strings.Cut(key, "@")
	if !ok {
		return ""
	}
	if tagged, _, found := strings.Cut(local, "+"); found && tagged != "" {
		local = tagged
	}
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

// SameSite reports whether two hosts belong to one owner, as far as their names
// tell: mail.acme.co.uk and acme.co.uk do.
func SameSite(a, b string) bool { return a == b || site(a) == site(b) }

func site(host string) string {
	if s, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return s
	}
	return host
}

// NamesAgree reports whether two full names may be one person's: the family names
// are the same and the given names are, or one is the other's beginning or initial.
// Words may be missing or in another order; case and accents make no difference.
// Where one of the names is blank nothing speaks against it.
func NamesAgree(a, b string) bool {
	x, y := nameWords(a), nameWords(b)
	if len(x) == 0 || len(y) == 0 {
		return true
	}
	if len(x) > len(y) {
		x, y = y, x
	}
	// Every word of the shorter name has its own in the longer one, and one of them
	// is the same in full.
	used, full := make([]bool, len(y)), false
	for _, w := range x {
		i := counterpart(w, y, used)
		if i < 0 {
			return false
		}
		used[i] = true
		full = full || len(w) > 1 && w == y[i]
	}
	return full
}

// counterpart is the place of the word that w may stand for, the same one first;
// -1 if there is none.
func counterpart(w string, words []string, used []bool) int {
	near := -1
	for i, v := range words {
		switch {
		case used[i]:
		case v == w:
			return i
		case near < 0 && (strings.HasPrefix(v, w) || strings.HasPrefix(w, v)) && (len(v) == 1 || len(w) == 1 || min(len(v), len(w)) >= 3):
			near = i
		}
	}
	return near
}

// NamesContradict reports whether two full names cannot be one person's, though
// something else, such as the address, says that they are: no word of one has a
// counterpart in the other. Names in different scripts never contradict, because
// one may be the other's transcription.
func NamesContradict(a, b string) bool {
	x, y := nameWords(a), nameWords(b)
	if len(x) == 0 || len(y) == 0 || isLatin(x) != isLatin(y) {
		return false
	}
	for _, w := range x {
		if counterpart(w, y, make([]bool, len(y))) >= 0 {
			return false
		}
	}
	return true
}

func isLatin(words []string) bool {
	for _, w := range words {
		for _, r := range w {
			if !unicode.Is(unicode.Latin, r) {
				return false
			}
		}
	}
	return true
}

// nameWords are the words of a name, lower case and without accents, without
// titles and what stands in brackets.
func nameWords(name string) []string {
	name, _, _ = strings.Cut(name, "(")
	words := strings.FieldsFunc(foldAccents(strings.ToLower(name)), func(r rune) bool {
		return !unicode.IsLetter(r) && r != '\''
	})
	kept := words[:0]
	for _, w := range words {
		if w = strings.ReplaceAll(w, "'", ""); w != "" && !honorifics[w] {
			kept = append(kept, w)
		}
	}
	return kept
}

var honorifics = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "miss": true, "dr": true, "prof": true, "herr": true, "frau": true, "jr": true, "sr": true,
	"phd": true, "md": true, "mba": true, "ii": true, "iii": true,
}

// foldAccents drops accents and spells out the letters that are no letter with an
// accent.
func foldAccents(s string) string {
	s = strings.NewReplacer("ø", "o", "ł", "l", "ı", "i", "đ", "d", "ß", "ss", "æ", "ae", "œ", "oe").Replace(s)
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(s))
}
