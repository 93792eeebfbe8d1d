package sandbox

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"backstop/lead"
)

// clearbit imitates Clearbit's Enrichment API, version 2.
type clearbit struct{}

func (clearbit) name() string { return Clearbit }
func (clearbit) read(r *http.Request, path string) call {
	return readEnrichment(r, path)
}

func (clearbit) tooFast() int { return http.StatusTooManyRequests }

// keyOf takes the key as a Bearer token or as the user of Basic.
func (clearbit) keyOf(r *http.Request) string {
	if user, _, ok := r.BasicAuth(); ok {
		return user
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}

// headers has the state of the limit. Reset is seconds left for some accounts
// and seconds since the epoch for others; here the seed says which account it is.
func (clearbit) headers(s Script, l Limit, a arrival) http.Header {
	if l.Rate == 0 {
		return nil
	}
	h := http.Header{}
	h.Set("X-RateLimit-Limit", strconv.Itoa(l.Rate))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(a.left))
	reset := math.Ceil(max(time.Until(a.resets).Seconds(), 0))
	if hash(s.Seed, "reset as a date")%2 == 0 {
		reset = math.Ceil(float64(a.resets.UnixMilli()) / 1000)
	}
	h.Set("X-RateLimit-Reset", strconv.FormatFloat(reset, 'f', 0, 64))
	return h
}

// says has the words of each status. A third of the errors come in an array, and
// a 202 in one of the three forms in use.
func (clearbit) says(status int, c call) response {
	word, message := "unknown_error", "Something went wrong."
	switch {
	case status == 202:
		forms := []string{`{"error":{"type":"queued","message":"Your request is being processed."}}`, `{"person":null,"company":null}`, ""}
		return response{status: status, body: []byte(pick(forms, "202", key(c.subject())))}
	case status == 400:
		word, message = "params_invalid", "Give an email address."
	case status == 401:
		word, message = "auth_required", "Give a valid key."
	case status == 402:
		word, message = "over_plan", "The plan is used up."
	case status == 404 && c.endpoint == "":
		word, message = "unknown_route", "There is no such path."
	case status == 404:
		word, message = "unknown_record", "Unknown person."
	case status == 422:
		word, message = "email_invalid", "This is not the address of a person."
	case status == 429:
		word, message = "rate_limit", "Too many requests."
	case status >= 500:
		word, message = "api_error", "Our mistake."
	}
	var e any = map[string]string{"type": word, "message": message}
	if hash(0, "error in an array", key(c.subject()), strconv.Itoa(status))%3 == 0 {
		e = []any{e}
	}
	return response{status: status, body: document(map[string]any{"error": e})}
}

// answer has person and company side by side only from combined/find; the other
// endpoints give the bare object.
func (v clearbit) answer(s Script, c call) response {
	if isRole(c.email) {
		return v.says(422, c)
	}
	person, company := enrichment(s, c, func(p lead.Profile) {
		delete(p, lead.PersonPhone) // Clearbit knows companies' only
	})
	var body any
	switch {
	case person == nil && company == nil:
		return v.says(404, c)
	case c.endpoint == "people/find":
		body = person
	case c.endpoint == "companies/find":
		body = company
	default:
		body = map[string]any{"person": orNil(person), "company": orNil(company)}
	}
	return response{status: 200, body: document(body)}
}

// bills: answers with these statuses are charged, once for each person.
func (clearbit) bills(c call, r response) (bool, string) {
	switch r.status {
	case 200, 201, 202, 404:
		return c.endpoint != "", key(c.subject())
	}
	return false, ""
}

// readEnrichment understands a request to the three endpoints that Clearbit and
// Hunter share.
func readEnrichment(r *http.Request, path string) call {
	c := readQuery(r, path, "/v2/", "combined/find", "people/find", "companies/find")
	if c.endpoint == "companies/find" {
		c.email, c.domain = "", strings.ToLower(r.URL.Query().Get("domain"))
	}
	return c
}

// enrichment is what a provider knows of those whom a call to one of the three
// endpoints is about: nil is nothing. limit takes from the profile what this
// vendor does not know of anybody.
func enrichment(s Script, c call, limit func(lead.Profile)) (person, company map[string]any) {
	if !s.IsKnown(c.provider, c.subject()) {
		return nil, nil
	}
	of := c.email
	if of == "" {
		of = "office@" + c.domain
	}
	p := Person(of)
	limit(p)
	person, company = parts(p, AsOf(of))
	half := s.half(c.provider, c.subject())
	if half == "person" || c.endpoint == "companies/find" {
		person = nil
	}
	if half == "company" && c.endpoint == "combined/find" || c.endpoint == "people/find" {
		company = nil
	}
	return person, company
}

// orNil is null in JSON for a map that is nil.
func orNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

// parts puts a profile into the objects that both vendors use.
func parts(p lead.Profile, asOf time.Time) (person, company map[string]any) {
	indexed := asOf.Format("2006-01-02T15:04:05.000Z")
	person = map[string]any{
		"id":       "p" + strconv.FormatUint(hash(0, "person", p[lead.PersonEmail]), 36),
		"name":     map[string]any{"fullName": p[lead.PersonName], "givenName": p[lead.PersonGivenName], "familyName": p[lead.PersonFamilyName]},
		"email":    p[lead.PersonEmail],
		"location": orNull(p[lead.PersonLocation]),
		"employment": map[string]any{
			"name": p[lead.CompanyName], "domain": p[lead.CompanyDomain],
			"title": p[lead.PersonTitle], "role": p[lead.PersonRole], "seniority": orNull(p[lead.PersonSeniority]),
		},
		"linkedin":  map[string]any{"handle": strings.TrimPrefix(p[lead.PersonLinkedIn], "linkedin.com/")},
		"phone":     orNull(p[lead.PersonPhone]),
		"fuzzy":     false,
		"indexedAt": indexed,
	}
	company = map[string]any{
		"id":        "c" + strconv.FormatUint(hash(0, "company", p[lead.CompanyDomain]), 36),
		"name":      p[lead.CompanyName],
		"domain":    p[lead.CompanyDomain],
		"category":  map[string]any{"industry": p[lead.CompanyIndustry]},
		"location":  orNull(p[lead.CompanyLocation]),
		"phone":     orNull(p[lead.CompanyPhone]),
		"linkedin":  map[string]any{"handle": strings.TrimPrefix(p[lead.CompanyLinkedIn], "linkedin.com/")},
		"metrics":   employees(p[lead.CompanyHeadcount]),
		"indexedAt": indexed,
	}
	return person, company
}

// employees is a number, or a range in one field or the other.
func employees(count string) map[string]any {
	if n, err := strconv.Atoi(count); err == nil {
		return map[string]any{"employees": n, "employeesRange": nil}
	}
	if strings.HasSuffix(count, "+") {
		return map[string]any{"employees": count}
	}
	return map[string]any{"employees": nil, "employeesRange": count}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// document is a JSON document of what can always be one.
func document(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("sandbox: " + err.Error()) // made of maps, strings and numbers only
	}
	return b
}
