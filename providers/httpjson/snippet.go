package httpjson

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxSnippet is the most bytes of a page that a detail shows.
const maxSnippet = 60

// pageWords are the words that pages of errors are made of. A snippet has no others,
// so that whatever else a page says, such as what was asked for, stays out of trails
// and logs.
var pageWords = strings.Fields(`access accepted account authentication authorization authorized backend bad balancer blocked
	cache captcha certificate challenge client cloudflare cloudfront connection dedicated denied disabled down during
	error expired exceeded failed failure forbidden found gateway haproxy heroku host html http https iis
	incapsula internal invalid is json key limit limited login maintenance many method moved nginx no not of
	openresty out page payment permanently plan proxy quota rate refused request requests required response
	server service site suspended sorry temporarily temporary the time timed timeout too try again later
	unauthorized unavailable unknown upstream url varnish waf web working`)

var (
	pageTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title`)
	pageCode  = regexp.MustCompile(`(?is)<(script|style)\b.*?(</(script|style)[^>]*>|$)`)
	pageTag   = regexp.MustCompile(`(?s)<[^>]*(>|$)`)
)

// snippet is what a page that is no JSON says, for people: its title or else its
// text, of which only pageWords and the numbers of HTTP statuses are kept, and
// each run of anything else is "…". It is "" when nothing would be left.
func snippet(body []byte) string {
	page := strings.ToValidUTF8(string(body[:min(len(body), 4<<10)]), " ")
	if m := pageTitle.FindStringSubmatch(page); m != nil && len(keep(m[1])) > 0 {
		page = m[1]
	}
	page = pageTag.ReplaceAllString(pageCode.ReplaceAllString(page, " "), " ")
	kept := keep(page)
	if len(kept) == 0 {
		return ""
	}
	s := ""
	for _, w := range kept {
		if len(s)+1+len(w) > maxSnippet-len(" …") {
			s += " …"
			break
		}
		s += " " + w
	}
	return s[1:]
}

// keep lists the words of a text that may be shown, with "…" for what stood between
// them. It is empty when there are none.
func keep(text string) []string {
	var kept []string
	found, gap := false, false
	for _, w := range strings.Fields(text) {
		w = shown(strings.Trim(w, `.,:;!?()[]|/-–—"'`))
		switch {
		case w == "…":
			gap = true
		case w != "":
			if gap {
				kept = append(kept, "…")
			}
			kept, found, gap = append(kept, w), true, false
		}
	}
	if !found {
		return nil
	}
	if gap {
		kept = append(kept, "…")
	}
	return kept
}

// shown is a word as it may be shown: itself if it is one of the vocabulary, in low
// letters or with a capital, or the number of a status; nothing for nothing; and "…".
func shown(w string) string {
	low := strings.ToLower(w)
	switch code, err := strconv.Atoi(w); {
	case w == "":
		return ""
	case len(w) == 3 && err == nil && isStatus(code):
		return w
	case !slices.Contains(pageWords, low):
		return "…"
	case w == low:
		return low
	}
	return strings.ToUpper(low[:1]) + low[1:]
}

// isStatus reports whether a number is a status of HTTP or one of Cloudflare's own
// (https://developers.cloudflare.com/support/troubleshooting/http-status-codes/).
func isStatus(code int) bool {
	return http.StatusText(code) != "" || code >= 520 && code <= 530
}
