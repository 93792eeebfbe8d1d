package lead

import (
	"net/netip"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/unicode/norm"
)

// SameValue reports whether two values of a field say the same: providers differ
// in case, in punctuation, and in whether a host has its "www.".
func SameValue(field Field, a, b string) bool {
	switch field {
	case CompanyDomain:
		return SameSite(a, b)
	case PersonEmail:
		return EmailKey(a) == EmailKey(b)
	case CompanyHeadcount:
		return headcount(a) == headcount(b)
	case PersonLinkedIn, CompanyLinkedIn:
		return strings.EqualFold(NormalizeLinkedIn(a), NormalizeLinkedIn(b))
	}
	x, y := essence(a), essence(b)
	if x == "" && y == "" { // signs alone
		return a == b
	}
	return x == y
}

// essence is a text without what makes no difference: case, accents, signs.
func essence(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || r == '+' {
			return r
		}
		return -1
	}, fold(s))
}

// headcount is a number of people, or a range of it, in one spelling. Its hyphen
// makes a difference: 51-250 is not 51,250.
func headcount(s string) string {
	s = headcountSigns.Replace(strings.ToLower(s))
	return strings.TrimSuffix(strings.Join(strings.Fields(s), ""), "employees")
}

var headcountSigns = strings.NewReplacer(" to ", "-", "–", "-", "—", "-", "−", "-", ",", "", "'", "", "’", "", "k", "000")

// SameSite reports whether two hosts belong to one owner, as far as their names
// tell: mail.acme.co.uk and acme.co.uk do.
func SameSite(a, b string) bool { return a == b || site(a) == site(b) }

// site is the part of a host that was registered; of an address in numbers, all.
func site(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	if s, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return s
	}
	return host
}

// fold is a text in lower case, without accents, and with the letters spelled out
// that are no letter with an accent. In scripts where a mark makes another letter
// or a vowel, such as Devanagari and Kana, the marks stay.
func fold(s string) string {
	s = specialLetters.Replace(strings.ToLower(norm.NFKD.String(s)))
	var b strings.Builder
	accented := false // a mark here is an accent
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Me, r):
			continue // how an emoji is drawn
		case !unicode.Is(unicode.Mn, r):
			accented = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew)
		case accented:
			continue
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

var specialLetters = strings.NewReplacer("ø", "o", "ł", "l", "ı", "i", "đ", "d", "ð", "d", "þ", "th", "ß", "ss", "æ", "ae", "œ", "oe")
