package lead

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// SameCompany reports whether two names may be one company's: word for word they
// are the same, or one goes on where the other ends, as "Acme Robotics" does after
// "Acme". Case, accents, signs, blanks and legal forms make no difference. A name
// without a letter or a digit is nobody's.
func SameCompany(a, b string) bool {
	x, y := companyWords(a), companyWords(b)
	return begin(x, y) || begin(y, x)
}

// begin reports whether the words of y begin with those of x, wherever the blanks
// between them are.
func begin(x, y []string) bool {
	whole, sofar := strings.Join(x, ""), ""
	for _, w := range y {
		if sofar += w; sofar == whole {
			return true
		}
	}
	return false
}

// companyWords are the words of a company's name, folded, without legal forms and
// "the"; a legal form at the beginning is a name. Single letters are one word, as
// those of "S.p.A.".
func companyWords(name string) []string {
	var words []string
	initials := false // the last word is made of single letters
	for _, w := range strings.FieldsFunc(fold(apostrophes.Replace(name)), isBetweenWords) {
		w = strings.ReplaceAll(w, "'", "")
		single := utf8.RuneCountInString(w) == 1
		switch {
		case w == "":
			continue
		case single && initials:
			words[len(words)-1] += w
		default:
			words = append(words, w)
		}
		initials = single
	}
	kept := words[:0]
	for i, w := range words {
		if i > 0 && legalForms[w] || w == "the" && len(words) > 1 {
			continue
		}
		kept = append(kept, w)
	}
	return kept
}

func isBetweenWords(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '+' && r != '\''
}

var legalForms = map[string]bool{
	"inc": true, "incorporated": true, "llc": true, "llp": true, "ltd": true, "limited": true, "plc": true, "corp": true, "corporation": true,
	"co": true, "company": true, "gmbh": true, "mbh": true, "ag": true, "se": true, "kg": true, "kgaa": true, "sa": true, "sas": true, "sarl": true,
	"srl": true, "spa": true, "bv": true, "nv": true, "ab": true, "as": true, "aps": true, "oy": true, "oyj": true, "pty": true, "pte": true, "pvt": true,
}

// SiteName is the name under which a host was registered, without what comes after
// it: "acme-robotics" of www.acme-robotics.co.uk. Many companies have theirs from it.
func SiteName(host string) string {
	name, _, _ := strings.Cut(site(host), ".")
	return name
}
