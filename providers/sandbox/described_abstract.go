package sandbox

import (
	"net/http"
	"strings"

	"backstop/lead"
)

// abstract imitates Abstract's Email Reputation
// (https://docs.abstractapi.com/api/email-reputation).
type abstract struct{}

func (abstract) name() string { return Abstract }

func (abstract) read(r *http.Request, path string) call {
	c := call{email: strings.ToLower(r.URL.Query().Get("email"))}
	if r.Method == http.MethodGet && strings.TrimSuffix(path, "/") == "/v1" {
		c.endpoint = "v1"
	}
	return c
}

func (abstract) keyOf(r *http.Request) string { return r.URL.Query().Get("api_key") }

func (abstract) tooFast() int { return http.StatusTooManyRequests }

// headers: Abstract says nothing of its limits.
func (abstract) headers(Script, Limit, arrival) http.Header { return nil }

// says: 422 is a plan that is used up, whatever the input was.
func (abstract) says(status int, c call) response {
	code, message := "internal_error", "Something went wrong."
	switch status {
	case 400:
		code, message = "validation_error", "Check the parameters."
	case 401:
		code, message = "unauthorized", "The API key is missing or not of this API."
	case 404:
		code, message = "not_found", "There is no such path."
	case 422:
		code, message = "quota_reached", "The plan has no requests left."
	case 429:
		code, message = "too_many_requests", "Too many requests in this second."
	}
	return response{status: status, body: document(map[string]any{"error": map[string]any{"code": code, "message": message, "details": nil}})}
}

// answer has no words for a person who is not known: the address is checked all
// the same.
func (v abstract) answer(s Script, c call) response {
	p := c.person()
	_, host, _ := strings.Cut(c.email, "@")
	status, catchAll := "deliverable", false
	switch p[lead.PersonEmailStatus] {
	case "invalid":
		status = "undeliverable"
	case "unknown":
		status = "unknown"
	case "accept_all":
		catchAll = true
	}
	sender := map[string]any{"first_name": nil, "last_name": nil, "email_provider_name": "Google", "organization_name": nil, "organization_type": nil}
	if s.IsKnown(Abstract, c.subject()) {
		sender["first_name"], sender["last_name"] = p[lead.PersonGivenName], p[lead.PersonFamilyName]
		if s.half(Abstract, c.subject()) != "company" && !lead.IsFreeMail(host) {
			sender["organization_name"], sender["organization_type"] = p[lead.CompanyName], "company"
		}
	}
	return response{status: 200, body: document(map[string]any{
		"email_address":        c.email,
		"email_deliverability": map[string]any{"status": status, "status_detail": "valid_email", "is_format_valid": true, "is_smtp_valid": status == "deliverable", "is_mx_valid": true},
		"email_quality":        map[string]any{"score": 0.8, "is_free_email": lead.IsFreeMail(host), "is_disposable": false, "is_catchall": catchAll, "is_role": isRole(c.email)},
		"email_sender":         sender,
		"email_domain":         map[string]any{"domain": host, "is_live_site": true},
		"email_risk":           map[string]any{"address_risk_status": "low", "domain_risk_status": "low"},
	})}
}

// bills: every address that was looked at.
func (abstract) bills(_ call, r response) (bool, string) { return r.status == 200, "" }
