package sandbox

import (
	"net/http"
	"strconv"
	"strings"

	"backstop/lead"
)

// apollo imitates Apollo's People Enrichment
// (https://docs.apollo.io/reference/people-enrichment).
type apollo struct{}

func (apollo) name() string { return Apollo }

func (apollo) read(r *http.Request, path string) call {
	var asked struct {
		Email    string `json:"email"`
		Name     string `json:"name"`
		Company  string `json:"organization_name"`
		Domain   string `json:"domain"`
		LinkedIn string `json:"linkedin_url"`
	}
	posted(r, &asked)
	c := call{email: strings.ToLower(asked.Email), name: asked.Name, company: asked.Company, domain: asked.Domain, by: linkedInOf(asked.LinkedIn)}
	if r.Method == http.MethodPost && path == "/api/v1/people/match" {
		c.endpoint = "people/match"
	}
	return c
}

// keyOf takes the key in its own header only. A Bearer token is for OAuth
// (https://github.com/oomol-lab/open-connector/issues/80).
func (apollo) keyOf(r *http.Request) string { return r.Header.Get("X-Api-Key") }

func (apollo) tooFast() int { return http.StatusTooManyRequests }

func (apollo) headers(Script, Limit, arrival) http.Header { return nil }

// says has the words of each status. Only 401 is plain text.
func (apollo) says(status int, c call) response {
	word := "Something went wrong."
	switch status {
	case 401:
		return plain(status, "Invalid access credentials.\n")
	case 403:
		word = "api/v1/people/match is not accessible with this api_key."
	case 404:
		word = "Not found."
	case 422:
		word = "Invalid parameters."
	case 429:
		word = "The maximum number of api calls allowed is reached. Please upgrade your plan."
	}
	return response{status: status, body: document(map[string]any{"error": word})}
}

// answer says of an unknown person null or, to a third of them, a stub with what
// was asked by and match_confidence "none". To a fifth of those who are known the
// address is not unlocked, and the state is none that says anything.
func (v apollo) answer(s Script, c call) response {
	if !s.IsKnown(Apollo, c.subject()) {
		if hash(s.Seed, "stub", key(c.subject()))%3 == 0 {
			return response{status: 200, body: document(map[string]any{"person": map[string]any{
				"id": nil, "name": orNull(c.name), "email": orNull(c.email), "match_confidence": "none",
			}})}
		}
		return response{status: 200, body: document(map[string]any{"person": nil})}
	}
	p := c.person()
	city, state, country := split(p[lead.PersonLocation])
	person := map[string]any{
		"id":         strconv.FormatUint(hash(0, "apollo", key(c.whom())), 16),
		"first_name": p[lead.PersonGivenName], "last_name": p[lead.PersonFamilyName], "name": p[lead.PersonName],
		"linkedin_url": "http://www." + p[lead.PersonLinkedIn], "title": p[lead.PersonTitle],
		"email": p[lead.PersonEmail], "email_status": "verified",
		"seniority": orNull(p[lead.PersonSeniority]), "departments": []string{p[lead.PersonRole]}, "functions": []string{},
		"city": city, "state": state, "country": country, "employment_history": []any{},
	}
	if hash(s.Seed, "locked", key(c.subject()))%5 == 0 {
		person["email"], person["email_status"] = "email_not_unlocked@domain.com", "unavailable"
	}
	person["organization"] = v.organization(p)
	if s.half(Apollo, c.subject()) == "company" {
		person["organization"] = nil
	}
	return response{status: 200, body: document(map[string]any{"person": person})}
}

func (apollo) organization(p lead.Profile) map[string]any {
	organization := map[string]any{
		"name": p[lead.CompanyName], "website_url": "http://www." + p[lead.CompanyDomain], "primary_domain": p[lead.CompanyDomain],
		"linkedin_url": "http://www." + p[lead.CompanyLinkedIn], "industry": p[lead.CompanyIndustry],
		"phone": p[lead.CompanyPhone], "primary_phone": map[string]any{"number": p[lead.CompanyPhone], "source": "Owler"},
		"raw_address": p[lead.CompanyLocation], "estimated_num_employees": nil,
	}
	if n, err := strconv.Atoi(p[lead.CompanyHeadcount]); err == nil {
		organization["estimated_num_employees"] = n
	}
	return organization
}

// bills: a match is charged, nobody else.
func (apollo) bills(_ call, r response) (bool, string) {
	person, ok := r.member("person").(map[string]any)
	return r.status == 200 && ok && person["match_confidence"] != "none", ""
}
