package profile

import (
	"backstop/lead"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzCapitals(f *testing.F) {
	for _, s := range []string{"ann o'brien-lee", "vp of sales", "ǆ ß ŉ", "mc", "mcß", "a'", "''", "\xff", "i̇stanbul"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{CapitalName(s), CapitalText(s)} {
			if !lead.SameValue(lead.PersonTitle, got, s) && utf8.ValidString(s) && isASCII(s) {
				t.Errorf("%q became %q", s, got)
			}
			if s != strings.ToLower(s) && got != s {
				t.Errorf("%q, which has a capital, became %q", s, got)
			}
		}
	})
}

func isASCII(s string) bool {
	return strings.Trim(s, " !\"#$%&'()*+,-./0123456789:;<=>?@[]^_`{|}~\\abcdefghijklmnopqrstuvwxyz") == ""
}
