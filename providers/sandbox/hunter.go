package sandbox

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"backstop/lead"
)

// hunter imitates Hunter's API, version 2.
type hunter struct{}

func (hunter) name() string { return Hunter }

func (hunter) read(r *http.Request, path string) call {
	switch q := r.URL.Query(); {
	case r.Method == http.MethodGet && path == "/v2/account":
		return call{endpoint: "account", free: true}
	case r.Method == http.MethodGet && path == "/v2/email-finder":
		c := call{endpoint: "email-finder", name: q.Get("full_name"), company: q.Get("company"), domain: strings.ToLower(q.Get("domain"))}
		if c.name == "" {
			c.name = strings.TrimSpace(q.Get("first_name") + " " + q.Get("last_name"))
		}
		if c.name == "" || c.company == "" && c.domain == "" { // nobody can be found by that
			c.name, c.company, c.domain = "", "", ""
		}
		return c
	}
	if c := readEnrichment(r, path); c.endpoint != "" {
		return c
	}
	return readQuery(r, path, "/v2/", "email-verifier")
}

// tooFast is 403 at Hunter; 429 is a plan that is used up.
func (hunter) tooFast() int { return http.StatusForbidden }

// keyOf takes the key in the header only. Hunter also takes it in the query,
// where it would be in every log on the way.
func (hunter) keyOf(r *http.Request) string {
	if k := r.Header.Get("X-API-KEY"); k != "" {
		return k
	}
	k, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return k
}

// headers: Hunter says nothing of its limits.
func (hunter) headers(Script, Limit, arrival) http.Header { return nil }

// says has the words of each status. A third of the errors are an object where
// the documentation has an array, as one of its examples has it.
func (hunter) says(status int, c call) response {
	id := "server_error"
	switch status {
	case 202:
		return response{status: status, body: document(map[string]any{"data": map[string]any{"email": c.email, "status": nil}})}
	case 222:
		id = "unexpected_smtp_response"
	case 400:
		id = "wrong_params"
	case 401:
		id = "authentication_failed"
	case 403:
		id = "too_fast"
	case 404:
		id = "not_found"
	case 422:
		id = "invalid_email"
	case 429:
		id = "too_many_requests"
	case 451:
		id = "claimed_email"
	}
	var e any = map[string]any{"id": id, "code": status, "details": "See the documentation."}
	if hash(0, "errors in an object", key(c.subject()), strconv.Itoa(status))%3 != 0 {
		e = []any{e}
	}
	return response{status: status, body: document(map[string]any{"errors": e})}
}

func (v hunter) answer(s Script, c call) response {
	switch c.endpoint {
	case "account":
		return answered(map[string]any{"plan_name": "Starter", "reset_date": resetDate(time.Now()), "requests": map[string]any{
			"searches": map[string]any{"used": 500, "available": 500}, "verifications": map[string]any{"used": 10, "available": 1000},
		}})
	case "email-verifier":
		return answered(map[string]any{
			"email": c.email, "status": Person(c.email)[lead.PersonEmailStatus], "score": hash(0, "score", key(c.email)) % 101,
		})
	case "email-finder":
		return v.find(s, c)
	}
	person, company := enrichment(s, c, func(lead.Profile) {})
	switch {
	case person == nil && company == nil:
		return v.says(404, c)
	case c.endpoint == "people/find":
		return answered(person)
	case c.endpoint == "companies/find":
		return answered(company)
	}
	return answered(map[string]any{"person": orNil(person), "company": orNil(company)})
}

// find is the answer of the finder. Whom it does not find is told in one of two
// ways: with 404, or with an address that is null.
func (v hunter) find(s Script, c call) response {
	given, family, _ := strings.Cut(c.name, " ")
	data := map[string]any{"first_name": given, "last_name": family, "email": nil, "score": nil, "domain": orNull(c.domain), "company": orNull(c.company)}
	if !s.IsKnown(Hunter, c.subject()) {
		if hash(0, "not found", key(c.subject()))%2 == 0 {
			return v.says(404, c)
		}
		return answered(data)
	}
	email := AddressOf(c.name, c.company, c.domain)
	p := Person(email)
	_, data["domain"], _ = strings.Cut(email, "@")
	data["email"], data["score"] = email, 50+hash(0, "score", key(email))%51
	data["position"], data["company"] = p[lead.PersonTitle], p[lead.CompanyName]
	data["linkedin_url"], data["phone_number"] = "https://www."+p[lead.PersonLinkedIn], p[lead.PersonPhone]
	data["verification"] = map[string]any{"date": "2026-01-15", "status": p[lead.PersonEmailStatus]}
	return answered(data)
}

// bills: an address that was found, an enrichment with data and a verification
// that came to a result.
func (hunter) bills(c call, r response) (bool, string) {
	if r.status != 200 && r.status != 201 {
		return false, ""
	}
	body := string(r.body)
	switch c.endpoint {
	case "account", "":
		return false, ""
	case "email-finder":
		return !strings.Contains(body, `"email":null`), ""
	case "email-verifier":
		for _, skipped := range []string{"webmail", "disposable", "unknown"} {
			if strings.Contains(body, `"status":"`+skipped+`"`) {
				return false, ""
			}
		}
		return true, c.endpoint + key(c.email) // counted once
	}
	return !strings.Contains(body, `"data":null`), ""
}

// answered is a body with data.
func answered(data any) response {
	return response{status: 200, body: document(map[string]any{"data": data, "meta": map[string]any{}})}
}

// resetDate is when the plan of the imitated account is renewed: at the next turn
// of the month.
func resetDate(now time.Time) string {
	y, m, _ := now.UTC().Date()
	return time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}
