package sandbox

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"backstop/lead"
)

// fullContact imitates FullContact's Person Enrich, version 3
// (https://docs.fullcontact.com/docs/multi-field-request).
type fullContact struct{}

func (fullContact) name() string { return FullContact }

func (fullContact) read(r *http.Request, path string) call {
	var asked struct {
		Email    string `json:"email"`
		Profiles []struct {
			URL string `json:"url"`
		} `json:"profiles"`
	}
	posted(r, &asked)
	c := call{email: strings.ToLower(asked.Email)}
	for _, p := range asked.Profiles {
		c.by = linkedInOf(p.URL)
	}
	if r.Method == http.MethodPost && path == "/v3/person.enrich" {
		c.endpoint = "person.enrich"
	}
	return c
}

func (fullContact) keyOf(r *http.Request) string { return bearer(r) }

func (fullContact) tooFast() int { return http.StatusForbidden }

// headers tell of the limit, over 60 seconds, in a spelling of FullContact's own.
func (fullContact) headers(_ Script, l Limit, a arrival) http.Header {
	if l.Rate == 0 {
		return nil
	}
	h := http.Header{}
	h.Set("X-Rate-Limit-Limit", strconv.Itoa(l.Rate))
	h.Set("X-Rate-Limit-Remaining", strconv.Itoa(a.left))
	h.Set("X-Rate-Limit-Reset", strconv.FormatFloat(math.Ceil(max(time.Until(a.resets).Seconds(), 0)), 'f', 0, 64))
	return h
}

// says: the same status stands for a bad key, a used-up plan and too many calls;
// what a call beyond the limit is told is the last.
func (v fullContact) says(status int, c call) response {
	message := "Something went wrong."
	var header http.Header
	switch status {
	case 202:
		message = "Your request is currently being processed. You can check again later."
	case 400:
		message = "Request was malformed."
	case 401: // FullContact has no 401
		status, message = 403, "API Key is invalid or missing."
	case 403:
		message = "Rate limit exceeded for this API key."
	case 404:
		message = "Profile not found."
	case 422:
		message = "Invalid or missing query parameter."
	case 503:
		message = "There is a transient downstream error condition."
		header = http.Header{"Content-Type": {"application/json"}, "Retry-After": {"20"}}
	}
	return response{status: status, header: header, body: document(map[string]any{"status": status, "message": message})}
}

func (v fullContact) answer(s Script, c call) response {
	if !s.IsKnown(FullContact, c.subject()) {
		return v.says(404, c)
	}
	p := c.person()
	linkedIn := "https://www." + p[lead.PersonLinkedIn]
	body := map[string]any{
		"fullName": p[lead.PersonName], "ageRange": nil, "gender": nil, "location": orNull(p[lead.PersonLocation]),
		"title": p[lead.PersonTitle], "organization": p[lead.CompanyName], "twitter": nil, "linkedin": linkedIn,
		"bio": nil, "avatar": nil, "website": nil, "updated": AsOf(c.whom()).Format(time.DateOnly),
		"details": map[string]any{
			"name":       map[string]any{"given": p[lead.PersonGivenName], "family": p[lead.PersonFamilyName], "full": p[lead.PersonName]},
			"emails":     []any{},
			"phones":     []any{map[string]any{"label": "work", "value": p[lead.PersonPhone]}},
			"profiles":   map[string]any{"linkedin": map[string]any{"url": linkedIn, "service": "linkedin"}},
			"locations":  []any{map[string]any{"formatted": p[lead.PersonLocation]}},
			"employment": v.jobs(p),
		},
	}
	if s.half(FullContact, c.subject()) == "company" {
		body["title"], body["organization"] = nil, nil
		body["details"].(map[string]any)["employment"] = []any{}
	}
	return response{status: 200, body: document(body)}
}

// jobs has a former employer first.
func (fullContact) jobs(p lead.Profile) []any {
	return []any{
		map[string]any{"name": "Former Holdings", "domain": "former.example", "title": "Trainee", "current": false},
		map[string]any{"name": p[lead.CompanyName], "domain": p[lead.CompanyDomain], "title": p[lead.PersonTitle], "current": true},
	}
}

// bills: only 200 is a match.
func (fullContact) bills(_ call, r response) (bool, string) { return r.status == 200, "" }
