package providers_test

import (
	"strings"
	"testing"

	"backstop/providers"
)

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
	if len(a.Detail) > 120 {
		t.Errorf("the detail %q is longer than a few words", a.Detail)
	}
}
