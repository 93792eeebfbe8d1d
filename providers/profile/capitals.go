package profile

import (
	"backstop/lead"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Some vendors keep all text in lower case. What is shown to people is put into
// usual capitals: each word begins with one, also behind a hyphen, a slash or an
// apostrophe after a single letter. Particles stay low within a name, small words
// within other text; abbreviations that are in common use get their own spelling.
// It is a rule, not knowledge: a name that is spelled in a way of its own loses it.
// Text that has a capital anywhere is left as it is.

// CapitalName is for names of people.
func CapitalName(s string) string { return capitals(s, lead.IsParticle, generations, true) }

// CapitalText is for titles, companies, industries and places.
func CapitalText(s string) string { return capitals(s, isSmall, abbreviations, false) }

var smallWords = strings.Fields("of and the for in at on to a an und de la le et y e do da von")

func isSmall(word string) bool { return slices.Contains(smallWords, word) }

var generations = map[string]string{"ii": "II", "iii": "III", "iv": "IV", "phd": "PhD", "md": "MD", "mba": "MBA"}

var abbreviations = spelled("CEO CTO CFO COO CIO CMO CPO CRO CSO CISO CHRO VP SVP EVP AVP HR IT QA PR UI UX SEO CRM ERP API AI ML IOT " +
	"B2B B2C R&D USA UK UAE EU EMEA APAC LATAM LLC LLP PLC AG SA NV BV II III IV PhD MBA SaaS GmbH IoT iOS DevOps")

func spelled(list string) map[string]string {
	m := map[string]string{}
	for _, w := range strings.Fields(list) {
		m[strings.ToLower(w)] = w
	}
	return m
}

func capitals(s string, low func(string) bool, own map[string]string, name bool) string {
	if s != strings.ToLower(s) {
		return s
	}
	list := strings.Split(s, " ")
	for i, w := range list {
		bare := strings.Trim(w, ",.;:()")
		switch {
		case own[bare] != "":
			list[i] = strings.Replace(w, bare, own[bare], 1)
		case i > 0 && low(bare):
		default:
			list[i] = capitalWord(w, name)
		}
	}
	return strings.Join(list, " ")
}

// capitalWord capitalises the parts of one word.
func capitalWord(w string, name bool) string {
	var b strings.Builder
	letters := 0 // of the current part, so far
	for _, r := range w {
		switch {
		case (r == '\'' || r == '’') && letters > 1: // "men's", not "o'brien"
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r):
			letters = 0
		default:
			if letters == 0 {
				r = unicode.ToTitle(r)
			}
			letters++
		}
		b.WriteRune(r)
	}
	w = b.String()
	if rest, ok := strings.CutPrefix(w, "Mc"); ok && name && len(rest) > 2 { // McDonald
		r, size := utf8.DecodeRuneInString(rest)
		return "Mc" + string(unicode.ToTitle(r)) + rest[size:]
	}
	return w
}
