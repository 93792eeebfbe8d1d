package sandbox

import (
	"net/http"
	"strings"

	"backstop/lead"
)

// zeroBounce imitates ZeroBounce's address validation, version 2
// (https://www.zerobounce.net/docs/email-validation-api-quickstart/v2-validate-emails).
type zeroBounce struct{}

func (zeroBounce) name() string { return ZeroBounce }

func (zeroBounce) read(r *http.Request, path string) call {
	c := call{email: strings.ToLower(r.URL.Query().Get("email"))}
	if r.Method == http.MethodGet && path == "/v2/validate" {
		c.endpoint = "validate"
	}
	return c
}

func (zeroBounce) keyOf(r *http.Request) string { return r.URL.Query().Get("api_key") }

func (zeroBounce) tooFast() int { return http.StatusTooManyRequests }

// headers: ZeroBounce says nothing of its limits.
func (zeroBounce) headers(Script, Limit, arrival) http.Header { return nil }

// says: what is wrong with the key or the account comes with status 200, in the
// same words for both. 403 is the shield in front of the API, in HTML.
func (zeroBounce) says(status int, c call) response {
	word := "Something went wrong."
	switch status {
	case 400:
		word = "Missing parameter: email"
	case 401:
		status, word = 200, "Invalid API key or your account ran out of credits"
	case 403:
		return response{status: status, body: []byte(shieldPage), header: http.Header{"Content-Type": {"text/html"}, "Server": {"cloudflare"}}}
	case 422: // an address that is none is an answer, not an error
		return zeroBounce{}.verdict(c, "invalid", "failed_syntax_check", nil)
	}
	return response{status: status, body: document(map[string]any{"error": word})}
}

const shieldPage = "<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head><body>Sorry, you have been blocked</body></html>\n"

func (v zeroBounce) answer(s Script, c call) response {
	p := c.person()
	status, sub := p[lead.PersonEmailStatus], ""
	switch {
	case isRole(c.email):
		status, sub = "do_not_mail", "role_based"
	case status == "accept_all":
		status = "catch-all"
	case status == "webmail":
		status = "valid"
	case status == "invalid":
		sub = "mailbox_not_found"
	case status == "unknown":
		sub = "greylisted"
	}
	if !s.IsKnown(ZeroBounce, c.subject()) {
		p = nil
	}
	return v.verdict(c, status, sub, p)
}

// verdict is what is said of an address; p has what is known of its owner.
func (zeroBounce) verdict(c call, status, sub string, p lead.Profile) response {
	account, host, _ := strings.Cut(c.email, "@")
	return response{status: http.StatusOK, body: document(map[string]any{
		"address": c.email, "status": status, "sub_status": sub, "free_email": lead.IsFreeMail(host), "did_you_mean": nil,
		"account": account, "domain": host, "domain_age_days": "8426", "smtp_provider": "", "mx_found": "true", "mx_record": "mx." + host,
		"firstname": orNull(p[lead.PersonGivenName]), "lastname": orNull(p[lead.PersonFamilyName]), "gender": nil,
		"country": nil, "region": nil, "city": nil, "zipcode": nil,
		"processed_at": AsOf(c.email).Format("2006-01-02 15:04:05.000"),
	})}
}

// bills: "unknown" is free.
func (zeroBounce) bills(_ call, r response) (bool, string) {
	status, ok := r.member("status").(string)
	return r.status == 200 && ok && status != "unknown", ""
}
