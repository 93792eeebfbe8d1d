package lead

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NamesAgree reports whether two full names may be one person's: they have a word
// in common, and every other word of the shorter name has a counterpart in the
// longer one, which is the same word, its initial, its beginning or its nickname.
// The last words of both, which are mostly family names, are no counterparts by a
// beginning or a nickname: Chan is not Chang.
//
// Order, case, accents, hyphens, apostrophes, particles and titles make no
// difference. Where one of the names is blank nothing speaks against it. Names in
// different scripts do not agree, as nothing speaks for it; see [NamesContradict].
func NamesAgree(a, b string) bool {
	x, y := glue(nameWords(a), nameWords(b)), glue(nameWords(b), nameWords(a))
	if len(x) == 0 || len(y) == 0 || slices.Equal(x, y) {
		return true
	}
	x, y = withoutParticles(x), withoutParticles(y)
	if len(x) > len(y) {
		x, y = y, x
	}
	inCommon := slices.ContainsFunc(x, func(w string) bool {
		return !isInitial(w) && slices.ContainsFunc(y, func(v string) bool { return sameWord(w, v) })
	})
	return inCommon && pairs(x, y, func(i, j int) bool {
		return sameWord(x[i], y[j]) || isShortFor(x[i], y[j]) && (isInitial(x[i]) || isInitial(y[j]) || !bothLast(x, i, y, j))
	})
}

// NamesContradict reports whether two full names cannot be one person's, though
// something else, such as the address, says that they are: no word of one has a
// counterpart in the other. Names in different scripts never contradict, because
// one may be the other's transcription.
func NamesContradict(a, b string) bool {
	x, y := glue(nameWords(a), nameWords(b)), glue(nameWords(b), nameWords(a))
	if s := script(x); s == nil || s != script(y) {
		return false
	}
	x, y = withoutParticles(x), withoutParticles(y)
	for _, w := range x {
		for _, v := range y {
			if sameWord(w, v) || isShortFor(w, v) || sameFamily(w, v) {
				return false
			}
		}
	}
	return true
}

// sameFamily reports whether two names that are written as one word begin with the
// same sign, which is the family name of most of Chinese and Korean.
func sameFamily(w, v string) bool {
	r, n := utf8.DecodeRuneInString(w)
	return isWide(w) && n < len(w) && strings.HasPrefix(v, string(r))
}

func bothLast(x []string, i int, y []string, j int) bool {
	return len(x) > 1 && len(y) > 1 && i == len(x)-1 && j == len(y)-1
}

// isInitial reports whether a word is one letter of an alphabet. In Chinese that
// may be a whole name.
func isInitial(w string) bool { return utf8.RuneCountInString(w) == 1 && !isWide(w) }

// isShortFor reports whether one of two words stands for the other: its initial,
// its beginning, a nickname.
func isShortFor(w, v string) bool {
	if len(w) > len(v) {
		w, v = v, w
	}
	if strings.HasPrefix(v, w) && (isInitial(w) || isWide(w) || utf8.RuneCountInString(w) >= 3) {
		return true
	}
	return isNickname(w, v)
}

// sameWord reports whether two words of names are one, also if one of them has an
// umlaut in the spelling without: Müller is Mueller.
func sameWord(w, v string) bool {
	return w == v || len(w) != len(v) && min(len(w), len(v)) >= 4 && umlauts.Replace(w) == umlauts.Replace(v)
}

// umlauts makes one of the two spellings of a word, without accents, that has some.
var umlauts = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u")

// pairs reports whether each of x can be given one of y of its own, by the rule
// that fit says. It looks for an augmenting path for each (Kuhn's algorithm).
func pairs(x, y []string, fit func(i, j int) bool) bool {
	owner := make([]int, len(y))
	for j := range owner {
		owner[j] = -1
	}
	var place func(i int, seen []bool) bool
	place = func(i int, seen []bool) bool {
		for j := range y {
			if seen[j] || !fit(i, j) {
				continue
			}
			seen[j] = true
			if owner[j] < 0 || place(owner[j], seen) {
				owner[j] = i
				return true
			}
		}
		return false
	}
	for i := range x {
		if !place(i, make([]bool, len(y))) {
			return false
		}
	}
	return true
}

// mostWords is how many words of a name are looked at. Longer ones are no names.
const mostWords = 16

// nameWords are the words of a name, folded, the family name last where a comma
// shows which it is; without titles, numbers and what stands in brackets.
func nameWords(name string) []string {
	name = fold(apostrophes.Replace(name))
	if rest := withoutBrackets(name); strings.ContainsFunc(rest, unicode.IsLetter) {
		name = rest
	}
	name = degrees.ReplaceAllString(name, " ")
	if family, given, ok := strings.Cut(name, ","); ok {
		name = given + " " + family
	}
	words := strings.FieldsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '\''
	})
	kept := words[:0]
	for _, w := range words {
		w = strings.ReplaceAll(w, "'", "")
		if strings.ContainsFunc(w, unicode.IsLetter) && !strings.ContainsFunc(w, unicode.IsDigit) && !honorifics[w] {
			kept = append(kept, w)
		}
	}
	return kept[:min(len(kept), mostWords)]
}

// apostrophes are the signs that are typed for one.
var apostrophes = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'", "ʻ", "'", "ʹ", "'", "′", "'", "´", "'", "`", "'", "＇", "'")

// degrees are titles with dots in them.
var degrees = regexp.MustCompile(`\b(ph\.d|m\.d|m\.b\.a|b\.sc|m\.sc)\b\.?`)

// withoutBrackets cuts out what stands in brackets: "Ann (she/her) Roe".
func withoutBrackets(s string) string {
	for {
		before, rest, ok := strings.Cut(s, "(")
		if !ok {
			return s
		}
		_, after, _ := strings.Cut(rest, ")")
		s = before + " " + after
	}
}

// glue is x with those of its words written as one that y has as one: "O Brien",
// "Jean Pierre", "van der Berg", and names of languages that need no spaces.
func glue(x, y []string) []string {
	var out []string
	for i := 0; i < len(x); {
		n := 1
		for k := 2; k <= 4 && i+k <= len(x); k++ {
			if slices.Contains(y, strings.Join(x[i:i+k], "")) {
				n = k
			}
		}
		out = append(out, strings.Join(x[i:i+n], ""))
		i += n
	}
	return out
}

// withoutParticles is a name without the particles between its words: sharing "van
// der" makes nobody one person. Le and Van are also names, but not between others.
func withoutParticles(words []string) []string {
	var out []string
	for i, w := range words {
		if i == 0 || i == len(words)-1 || !particles[w] {
			out = append(out, w)
		}
	}
	return out
}

// IsParticle reports whether a word, in lower case, stands between the words of a name
// without being one: "van", "de la".
func IsParticle(word string) bool { return particles[word] }

var particles = map[string]bool{
	"af": true, "al": true, "av": true, "bin": true, "bint": true, "da": true, "das": true, "de": true, "del": true, "della": true, "den": true,
	"der": true, "di": true, "do": true, "dos": true, "du": true, "e": true, "el": true, "ibn": true, "la": true, "le": true, "of": true,
	"ten": true, "ter": true, "und": true, "van": true, "vom": true, "von": true, "y": true, "zu": true, "zur": true,
}

var honorifics = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "miss": true, "dr": true, "prof": true, "professor": true, "herr": true, "frau": true,
	"sir": true, "dame": true, "rev": true, "mme": true, "mlle": true, "sra": true, "srta": true, "drs": true, "dipl": true,
	"jr": true, "sr": true, "ii": true, "iii": true, "iv": true, "esq": true,
	"phd": true, "md": true, "mba": true, "bsc": true, "msc": true, "cpa": true, "cfa": true, "pmp": true, "dds": true,
}

// script is the one script that all letters of a name are of, nil if there is none.
func script(words []string) *unicode.RangeTable {
	var found *unicode.RangeTable
	for _, w := range words {
		for _, r := range w {
			if !unicode.IsLetter(r) || unicode.Is(unicode.Common, r) {
				continue
			}
			s := scriptOf(r)
			if s == nil || found != nil && s != found {
				return nil
			}
			found = s
		}
	}
	return found
}

func scriptOf(r rune) *unicode.RangeTable {
	for _, s := range scripts {
		if unicode.Is(s, r) {
			return s
		}
	}
	return nil
}

// scripts are those whose words are compared. Han and Kana are two: a name in one
// may be the reading of one in the other.
var scripts = []*unicode.RangeTable{
	unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Arabic, unicode.Hebrew, unicode.Han, unicode.Hiragana,
	unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Devanagari, unicode.Bengali, unicode.Tamil, unicode.Telugu,
	unicode.Gujarati, unicode.Gurmukhi, unicode.Kannada, unicode.Malayalam, unicode.Georgian, unicode.Armenian,
}

// isWide reports whether a word is written without spaces and with few signs.
func isWide(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
