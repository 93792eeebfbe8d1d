package sandbox

import (
	"encoding/base64"
	"net/http"
	"strings"

	"backstop/lead"
)

// dropcontact imitates Dropcontact's Enrich
// (https://developer.dropcontact.com/en/quickstart/): a request gives out a
// ticket, and the result is there the second time that it is asked for.
type dropcontact struct{}

const (
	enrichAll    = "enrich/all"
	enrichResult = "enrich/all/result" // GET /v1/enrich/all/TICKET
)

func (dropcontact) name() string { return Dropcontact }

func (v dropcontact) read(r *http.Request, path string) call {
	if ticket, ok := strings.CutPrefix(path, "/v1/enrich/all/"); ok && r.Method == http.MethodGet {
		return fromTicket(ticket)
	}
	var asked struct {
		Data []struct {
			Email    string `json:"email"`
			Name     string `json:"full_name"`
			Company  string `json:"company"`
			Website  string `json:"website"`
			LinkedIn string `json:"linkedin"`
		} `json:"data"`
	}
	posted(r, &asked)
	var c call
	if len(asked.Data) == 1 {
		one := asked.Data[0]
		c = call{email: strings.ToLower(one.Email), name: one.Name, company: one.Company, domain: one.Website, by: linkedInOf(one.LinkedIn)}
	}
	if r.Method == http.MethodPost && path == "/v1/enrich/all" {
		c.endpoint = enrichAll
	}
	return c
}

// ticket holds what a call asks about, so that the sandbox need not remember it.
func ticket(c call) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join([]string{c.email, c.name, c.company, c.domain, c.by}, "\x00")))
}

func fromTicket(ticket string) call {
	c := call{endpoint: enrichResult, by: "ticket " + ticket}
	text, err := base64.RawURLEncoding.DecodeString(ticket)
	if parts := strings.Split(string(text), "\x00"); err == nil && len(parts) == 5 {
		c.email, c.name, c.company, c.domain, c.by = parts[0], parts[1], parts[2], parts[3], parts[4]
	}
	return c
}

func (dropcontact) keyOf(r *http.Request) string { return r.Header.Get("X-Access-Token") }

func (dropcontact) tooFast() int { return http.StatusTooManyRequests }

// headers: Dropcontact says nothing of its limits.
func (dropcontact) headers(Script, Limit, arrival) http.Header { return nil }

// says: most errors have their words in reason, some in detail
// (https://developer.dropcontact.com/en/errors/). With status 200 an error comes
// all the same.
func (dropcontact) says(status int, c call) response {
	reason := "An error occurred."
	switch status {
	case 400:
		reason = "Missing data in JSON"
	case 401:
		reason = "Invalid access token"
	case 403:
		reason = "Not enough credits"
	case 404, 422, 500:
		return response{status: status, body: document(map[string]any{"detail": http.StatusText(status)})}
	case 429:
		reason = "Too many requests"
	}
	return response{status: status, body: document(map[string]any{"error": true, "success": false, "reason": reason})}
}

func (v dropcontact) answer(s Script, c call) response {
	if c.endpoint == enrichAll {
		return response{status: 200, body: document(map[string]any{"request_id": ticket(c), "credits_left": 15277, "error": false, "success": true})}
	}
	unknownTicket := strings.HasPrefix(c.by, "ticket ")
	if unknownTicket || c.nth < 3 { // the first is the request itself
		return response{status: 200, body: document(map[string]any{"error": false, "success": false, "reason": "Request not ready yet, try again in 30 seconds"})}
	}
	return response{status: 200, body: document(map[string]any{"data": []any{v.record(s, c)}, "credits_left": 15276, "error": false, "success": true})}
}

// record is a person as Dropcontact gives it: without what it does not know. Of
// an unknown person it gives back what it was asked by.
func (v dropcontact) record(s Script, c call) map[string]any {
	if !s.IsKnown(Dropcontact, c.subject()) {
		record := map[string]any{}
		for k, value := range map[string]string{"full_name": c.name, "company": c.company, "website": c.domain} {
			if value != "" {
				record[k] = value
			}
		}
		if c.email != "" {
			record["email"] = []any{map[string]any{"email": c.email, "qualification": "non_validated@pro"}}
		}
		return record
	}
	p := c.person()
	qualification := map[string]string{"valid": "nominative@pro", "accept_all": "catch-all@pro", "invalid": "invalid@pro", "webmail": "nominative@perso"}[p[lead.PersonEmailStatus]]
	if qualification == "" {
		qualification = "non_validated@pro"
	}
	record := map[string]any{
		"civility": "Mr", "full_name": p[lead.PersonName], "first_name": p[lead.PersonGivenName], "last_name": p[lead.PersonFamilyName],
		"email":    []any{map[string]any{"email": p[lead.PersonEmail], "qualification": qualification}},
		"linkedin": "www." + p[lead.PersonLinkedIn], "job": p[lead.PersonTitle], "job_function": p[lead.PersonRole],
		"mobile_phone": p[lead.PersonPhone],
	}
	if s.half(Dropcontact, c.subject()) != "company" {
		record["company"], record["website"] = p[lead.CompanyName], "www."+p[lead.CompanyDomain]
		record["industry"], record["nb_employees"] = p[lead.CompanyIndustry], p[lead.CompanyHeadcount]
		record["company_linkedin"] = "www." + p[lead.CompanyLinkedIn]
	}
	return record
}

// bills: a result with an address in it, once for each request.
func (dropcontact) bills(c call, r response) (bool, string) {
	data, _ := r.member("data").([]any)
	return r.status == 200 && len(data) > 0, ticket(c)
}
