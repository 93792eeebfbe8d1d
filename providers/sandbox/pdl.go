package sandbox

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"backstop/lead"
)

// pdl imitates the Person Enrichment API of People Data Labs, version 5.
type pdl struct{}

func (pdl) name() string { return PDL }

// read understands a request by an address, a profile, a phone number or a name
// together with a company or a place. What does not identify anybody is as good as
// nothing.
func (pdl) read(r *http.Request, path string) call {
	q := r.URL.Query()
	c := call{
		email: strings.ToLower(q.Get("email")), name: q.Get("name"), company: q.Get("company"),
		by: strings.TrimSpace(q.Get("profile") + " " + q.Get("phone")),
	}
	if r.Method == http.MethodGet && path == "/v5/person/enrich" {
		c.endpoint = "person/enrich"
	}
	if c.name == "" {
		c.name = strings.TrimSpace(q.Get("first_name") + " " + q.Get("last_name"))
	}
	if d := lead.NormalizeDomain(c.company); d != "" {
		c.domain, c.company = d, ""
	}
	if c.company == "" && c.domain == "" && q.Get("location") == "" && c.by == "" {
		c.name = ""
	}
	if c.email == "" && c.name == "" {
		c.company, c.domain = "", ""
	}
	c.least, _ = strconv.Atoi(q.Get("min_likelihood")) // anything else is none
	return c
}

func (pdl) tooFast() int { return http.StatusTooManyRequests }

func (pdl) keyOf(r *http.Request) string { return r.Header.Get("X-Api-Key") }

// headers has the state of the limit; reset is an ISO 8601 time.
func (pdl) headers(_ Script, l Limit, a arrival) http.Header {
	if l.Rate == 0 {
		return nil
	}
	h := http.Header{}
	h.Set("X-RateLimit-Limit", strconv.Itoa(l.Rate))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(a.left))
	h.Set("X-RateLimit-Reset", a.resets.UTC().Add(time.Second-1).Truncate(time.Second).Format(time.RFC3339))
	return h
}

// says has the words of each status.
func (pdl) says(status int, c call) response {
	word := "api_error"
	switch status {
	case 400, 405:
		word = "invalid_request_error"
	case 401:
		word = "authentication_error"
	case 402:
		word = "payment_required"
	case 404:
		word = "not_found"
	case 429:
		word = "rate_limit_error"
	}
	return response{status: status, body: document(map[string]any{
		"status": status, "error": map[string]any{"type": word, "message": "See the documentation."},
	})}
}

func (v pdl) answer(s Script, c call) response {
	if !s.IsKnown(PDL, c.subject()) {
		return v.says(404, c)
	}
	sure := Likelihood(c.subject())
	if sure < c.least {
		return v.says(404, c)
	}
	email := c.email
	if email == "" {
		email = AddressOf(c.name, c.company, c.domain)
	}
	return response{status: 200, body: document(map[string]any{"status": 200, "likelihood": sure, "data": record(email)})}
}

// Likelihood is how sure People Data Labs is, from 1 to 10, that it is the right
// person: for one in ten it is not.
func Likelihood(subject string) int {
	if hash(0, "unlikely", key(subject))%10 == 0 {
		return 2 + int(hash(0, "likelihood", key(subject))%4)
	}
	return 6 + int(hash(0, "likelihood", key(subject))%5)
}

// record is what is known of a person, in lower case and with addresses of pages
// that have no scheme. What the plan does not include is true instead of a value.
func record(email string) map[string]any {
	p := Person(email)
	low := func(f lead.Field) any { return orNull(strings.ToLower(p[f])) }
	_, host, _ := strings.Cut(email, "@")
	r := map[string]any{
		"id":         "q" + strconv.FormatUint(hash(0, "pdl", key(email)), 36) + "_0000",
		"full_name":  low(lead.PersonName),
		"first_name": low(lead.PersonGivenName), "last_name": low(lead.PersonFamilyName),
		"job_title": low(lead.PersonTitle), "job_title_role": low(lead.PersonRole), "job_title_levels": []any{},
		"linkedin_url": low(lead.PersonLinkedIn), "location_name": low(lead.PersonLocation),
		"mobile_phone": nil, "phone_numbers": []any{phoneDigits(p[lead.PersonPhone])},
		"work_email": nil, "personal_emails": true, "recommended_personal_email": true,
		"emails":           []any{map[string]any{"address": email, "type": "current_professional"}},
		"job_company_name": low(lead.CompanyName), "job_company_website": low(lead.CompanyDomain),
		"job_company_industry": low(lead.CompanyIndustry), "job_company_location_name": low(lead.CompanyLocation),
		"job_company_linkedin_url": low(lead.CompanyLinkedIn),
		"job_company_size":         low(lead.CompanyHeadcount), "job_company_employee_count": nil,
		"job_company_founded": "1999", "birth_year": 1980,
		"job_last_updated": AsOf(email).Format(time.DateOnly),
	}
	if level := p[lead.PersonSeniority]; level != "" {
		r["job_title_levels"] = []any{level}
	}
	if n, err := strconv.Atoi(p[lead.CompanyHeadcount]); err == nil {
		r["job_company_employee_count"], r["job_company_size"] = n, "1-10000"
	}
	if lead.IsFreeMail(host) {
		r["personal_emails"], r["recommended_personal_email"] = []any{email}, email
	} else {
		r["work_email"] = email
	}
	if hash(0, "mobile", key(email))%2 == 0 {
		r["mobile_phone"] = phoneDigits(p[lead.PersonPhone])
	}
	return r
}

func phoneDigits(s string) string { return strings.NewReplacer(" ", "", "-", "").Replace(s) }

// bills: each match, also the second one of the same person.
func (pdl) bills(c call, r response) (bool, string) { return r.status == 200 && c.endpoint != "", "" }
