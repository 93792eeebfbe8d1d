package httpjson

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestSnippetsOfPages(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"the title of a page":                  {"<html><head><title>502 Bad Gateway</title></head><body><h1>Something for maria@acme.example</h1></body></html>", "502 Bad Gateway"},
		"a title with a host":                  {"<title>acme.example | 522: Connection timed out</title>", "… 522 Connection timed out"},
		"without a title, the text":            {"<!doctype html><body><h1>Service Unavailable</h1><p>nginx/1.25</body>", "Service Unavailable …"},
		"a title without a word":               {"<title>Acme</title><p>Access denied", "… Access denied"},
		"scripts and styles are no text":       {"<style>the error</style><script>var server='x'</script>Rate limit exceeded", "Rate limit exceeded"},
		"plain text":                           {"upstream request timeout", "upstream request timeout"},
		"capitals":                             {"FORBIDDEN", "Forbidden"},
		"what was asked":                       {"No record of maria.garcia@acme-robotics.example was found", "No … of … found"},
		"a phone number is no status":          {"Call 555 0100 or +1-404-555", ""},
		"an attribute is no text":              {`<p title="server error" data-email="maria">`, ""},
		"a tag that does not end":              {"Bad gateway <a href='maria", "Bad gateway"},
		"nothing":                              {"", ""},
		"bytes":                                {"\xff\xfe\x00error", ""},
		"a long page is cut between its words": {strings.Repeat("service unavailable ", 20), "service unavailable service unavailable service …"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := snippet([]byte(c.page)); got != c.want {
				t.Errorf("snippet is %q, want %q", got, c.want)
			}
		})
	}
}

var word = regexp.MustCompile(`[^ ]+`)

// checkSnippet holds for the snippet of anything: there is no word in it beside those
// of the vocabulary.
func checkSnippet(t *testing.T, s string) {
	t.Helper()
	if len(s) > maxSnippet {
		t.Errorf("the snippet %q has %d bytes", s, len(s))
	}
	for _, w := range word.FindAllString(s, -1) {
		if w != "…" && !slices.Contains(pageWords, strings.ToLower(w)) && !regexp.MustCompile(`^[1-5][0-9]{2}$`).MatchString(w) {
			t.Errorf("the snippet %q has the word %q", s, w)
		}
	}
}

func FuzzSnippet(f *testing.F) {
	for _, s := range []string{"<title>502 Bad Gateway</title>", "maria garcia", "<p>Error for maria.garcia@acme.example", "<<<>>>", "\xff404", "<title>", "İnvalid ſervice"} {
		f.Add(s, "maria")
	}
	f.Fuzz(func(t *testing.T, page, name string) {
		got := snippet([]byte(page + " " + name + " " + page))
		checkSnippet(t, got)
		for _, w := range strings.Fields(strings.ToLower(name)) {
			if !slices.Contains(pageWords, w) && len(w) > 3 && strings.Contains(strings.ToLower(got), w) && !isPartOfVocabulary(w) {
				t.Errorf("the snippet %q of a page that names %q", got, w)
			}
		}
	})
}

// isPartOfVocabulary reports whether a word is a piece of what may stand in a snippet
// anyway: of a word or of two that follow each other.
func isPartOfVocabulary(w string) bool {
	for _, v := range pageWords {
		if strings.Contains(v, w) {
			return true
		}
	}
	return false
}
