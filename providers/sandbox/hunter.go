package sandbox

import (
	"net/http"
	"strconv"
	"strings"

	"backstop/lead"
)

// hunter imitates Hunter's API, version 2.
type hunter struct{}

func (hunter) name() string { return Hunter }
func (hunter) read(r *http.Request, path string) call {
	return readQuery(r, path, "/v2/", "combined/find", "email-verifier")
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
	if hash(0, "errors in an object", key(c.email), strconv.Itoa(status))%3 != 0 {
		e = []any{e}
	}
	return response{status: status, body: document(map[string]any{"errors": e})}
}

func (v hunter) answer(s Script, c call) response {
	p := Person(c.email)
	if c.endpoint == "email-verifier" {
		return response{status: 200, body: document(map[string]any{"data": map[string]any{
			"email": c.email, "status": p[lead.PersonEmailStatus], "score": hash(0, "score", key(c.email)) % 101,
		}})}
	}
	if !s.IsKnown(Hunter, c.email) {
		return v.says(404, c)
	}
	person, company := parts(p, AsOf(c.email))
	return response{status: 200, body: document(map[string]any{
		"data": withHalf(s.half(Hunter, c.email), person, company),
		"meta": map[string]any{"email": c.email},
	})}
}
