package lead

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// Normalize brings a lead into the one spelling that is stored and compared:
// NFC text without control characters or doubled spaces, a lower-case address
// with an ASCII domain, a bare company domain, a full name composed of its
// parts. The error, if any, is a *[FieldError]; the lead is then not usable.
func Normalize(l Lead) (Lead, error) {
	for _, f := range l.fields() {
		*f.value = cleanText(*f.value)
	}
	var err error
	if l.Email, err = NormalizeEmail(l.Email); err != nil {
		return Lead{}, err
	}
	if l.Domain, err = normalizeDomain(l.Domain); err != nil {
		return Lead{}, err
	}
	l.LinkedIn = normalizeLinkedIn(l.LinkedIn)
	for strings.HasPrefix(l.Phone, "p:") { // Meta lead ads
		l.Phone = strings.TrimSpace(l.Phone[2:])
	}
	if l.Name == "" {
		l.Name = strings.TrimSpace(l.GivenName + " " + l.FamilyName)
	}
	if l.Email == "" && l.Name == "" {
		return Lead{}, &FieldError{"email", "and name are both empty", "give at least one of them"}
	}
	// The lengths are those of what is kept: composing text can make it longer.
	for _, f := range l.fields() {
		if len(*f.value) > MaxFieldLength {
			return Lead{}, &FieldError{f.name, "is longer than 1000 bytes", "shorten it, or look for a missing closing quote"}
		}
	}
	return l, nil
}

// cleanText trims, drops control and zero-width characters and bytes that are
// not UTF-8, folds runs of white space into one space and composes what is left
// (NFC): last, because what was dropped may have kept two characters apart.
func cleanText(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case r == utf8.RuneError, r == '\u200b', r == '\u200c', r == '\u200d', r == '\u2060', r == '\ufeff':
			continue
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case unicode.IsControl(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

// isPlain reports whether s is printable ASCII with single inner spaces, which
// is most of what files hold and needs no work.
func isPlain(s string) bool {
	prev := byte(' ')
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && prev == ' ' {
			return false
		}
		prev = c
	}
	return prev != ' ' || s == ""
}

// NormalizeEmail gives the address in lower case with an ASCII (punycode)
// domain. It accepts what people paste: "mailto:", angle brackets with a display
// name, a trailing dot, and several addresses in one cell, of which the first
// that is valid counts. The error is a *[FieldError].
func NormalizeEmail(s string) (string, error) {
	s = cleanText(s)
	if s == "" {
		return "", nil
	}
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == ',' || r == '|' || r == ' ' }) {
		if e := normalizeOneEmail(part); e != "" {
			return e, nil
		}
	}
	return "", &FieldError{"email", "is not an email address", "correct it or empty the cell"}
}

func normalizeOneEmail(s string) string {
	if i := strings.IndexByte(s, '<'); i >= 0 {
		s = s[i+1:]
	}
	s = strings.TrimRight(s, ">.")
	for len(s) > 7 && strings.EqualFold(s[:7], "mailto:") {
		s, _, _ = strings.Cut(s[7:], "?")
		if u, err := url.PathUnescape(s); err == nil {
			s = cleanText(u)
		}
	}
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > 64 {
		return ""
	}
	local := norm.NFC.String(strings.ToLower(s[:at]))
	if strings.ContainsFunc(local, func(r rune) bool {
		return r <= ' ' || r == utf8.RuneError || strings.ContainsRune(`@<>()",;|`, r)
	}) || strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") {
		return ""
	}
	host, err := hostToASCII(s[at+1:])
	if err != nil || !strings.Contains(host, ".") || len(local)+1+len(host) > 254 {
		return ""
	}
	return local + "@" + host
}

// hostToASCII lower-cases a host name and puts it into its ASCII form, refusing
// what cannot be one.
func hostToASCII(s string) (string, error) {
	return hosts.ToASCII(strings.TrimSuffix(s, "."))
}

var hosts = idna.New(
	idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true),
	idna.VerifyDNSLength(true), idna.Transitional(false),
)

// EmailKey is the canonical spelling of a person's address, for telling whether
// two addresses are the same person: where the mail host is known to ignore
// dots and plus tags (Gmail, [support.google.com/mail/answer/7436150]) they are
// removed, and googlemail.com is gmail.com. It expects a normalised address.
//
// [support.google.com/mail/answer/7436150]: https://support.google.com/mail/answer/7436150
func EmailKey(email string) string {
	local, host, ok := strings.Cut(email, "@")
	if !ok {
		return email
	}
	if host == "googlemail.com" || host == "gmail.com" {
		return strings.ReplaceAll(untagged(local), ".", "") + "@gmail.com"
	}
	return email
}

// untagged is the local part of an address without its plus tag. What begins with
// the plus is no tag of nothing.
func untagged(local string) string {
	if local == "" {
		return ""
	}
	tagless, _, _ := strings.Cut(local[1:], "+")
	return local[:1] + tagless
}

// normalizeDomain makes a bare host of a domain, a URL or an address.
func normalizeDomain(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	d := s
	if i := strings.Index(d, "://"); i >= 0 {
		d = d[i+3:]
	}
	if i := strings.IndexAny(d, "/?#"); i >= 0 {
		d = d[:i]
	}
	d = d[strings.LastIndexByte(d, '@')+1:]
	d, _, _ = strings.Cut(d, ":")
	d, err := hostToASCII(d)
	if err != nil || !strings.Contains(d, ".") {
		return "", &FieldError{"domain", "is not a domain name", "give it as example.com or empty the cell"}
	}
	for {
		rest, ok := strings.CutPrefix(d, "www.")
		if !ok || !strings.Contains(rest, ".") { // "www.com" is a domain of its own
			return d, nil
		}
		d = rest
	}
}

// normalizeLinkedIn gives a profile as "linkedin.com/in/x", whichever of the
// forms in use it came in: a URL, a host and path, or the bare path.
func normalizeLinkedIn(s string) string {
	p := s
	for before := ""; p != before; { // pasted twice over, it is still one profile
		before = p
		if _, rest, ok := strings.Cut(p, "://"); ok {
			p = rest
		}
		if i := strings.IndexAny(p, "?#"); i >= 0 {
			p = p[:i]
		}
		p = strings.Trim(p, "/ ")
		host, rest, _ := strings.Cut(p, "/")
		if strings.HasSuffix("."+strings.ToLower(host), ".linkedin.com") {
			p = rest
		}
	}
	if p == "" {
		return ""
	}
	return "linkedin.com/" + p
}

// NormalizeLinkedIn gives a LinkedIn profile as "linkedin.com/in/x".
func NormalizeLinkedIn(s string) string { return normalizeLinkedIn(cleanText(s)) }

// NormalizeDomain gives a company's domain as a bare lower-case ASCII host, or
// "" when s is none.
func NormalizeDomain(s string) string {
	d, _ := normalizeDomain(cleanText(s)) // the caller wants a domain or nothing
	return d
}
