package vendors_test

import (
	"regexp"
	"strings"
	"testing"

	"backstop/providers"
)

// quotes are the snippets of pages in a detail; snippet_test.go has what may stand in
// them.
var quotes = regexp.MustCompile(` ?\(?"[^"]*"\)?`)

// checkPrivacy holds for every answer of every test: a detail is words of our
// own, short, and says nothing about the person or the key.
func checkPrivacy(t *testing.T, a providers.Answer) {
	t.Helper()
	d := strings.ToLower(a.Detail)
	for _, secret := range []string{secretKey, "maria", "garcia", "acme", "@", "%40", "http", "127.0.0.1"} {
		if secret != "http" && strings.Contains(d, secret) || secret == "http" && strings.Contains(d, "http:") {
			t.Errorf("the detail %q holds %q", a.Detail, secret)
		}
	}
	for _, q := range quotes.FindAllStringSubmatch(a.Detail, -1) {
		if _, page, ok := strings.Cut(q[0], `("`); !ok || len(page) > 62 {
			t.Errorf("the detail %q quotes something else than a page", a.Detail)
		}
	}
	if strings.Count(a.Detail, `"`) > 2 {
		t.Errorf("the detail %q quotes more than one page", a.Detail)
	}
	if len(quotes.ReplaceAllString(a.Detail, "")) > 120 {
		t.Errorf("the detail %q is longer than a few words", a.Detail)
	}
}
