package sandbox

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"backstop/lead"
)

// The imitations of APIs that are asked by a shipped description. They are written
// from what the vendors say, not from the descriptions.
const (
	Abstract    = "abstract"
	Apollo      = "apollo"
	Dropcontact = "dropcontact"
	FullContact = "fullcontact"
	ZeroBounce  = "zerobounce"
)

func init() {
	vendors = append(vendors, abstract{}, apollo{}, dropcontact{}, fullContact{}, zeroBounce{})
}

// posted reads the JSON body of a request into v. One that is not JSON leaves v
// as it is: the vendors answer it as they do a request without parameters. The
// body is then read to its end, and cannot be read again once an answer began.
func posted(r *http.Request, v any) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err != nil {
		panic(http.ErrAbortHandler) // the client left
	}
	r.Body = http.NoBody
	_ = json.Unmarshal(body, v) // see above
}

// bearer is the key of a request that has it as a Bearer token.
func bearer(r *http.Request) string {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}

// whom is the address of the person that a call asks about, by whatever it does.
func (c call) whom() string {
	switch {
	case c.email != "":
		return c.email
	case c.name != "":
		return AddressOf(c.name, c.company, c.domain)
	}
	return AddressOf(c.by, "", "")
}

// person is what is to be known of the person that a call asks about. Who
// is asked about by a profile has that profile.
func (c call) person() lead.Profile {
	p := Person(c.whom())
	if c.by != "" {
		p[lead.PersonLinkedIn] = c.by
	}
	return p
}

// linkedInOf is the profile behind a URL, "" if there is none.
func linkedInOf(url string) string { return lead.NormalizeLinkedIn(url) }

// plain is a plain text, as some APIs have it where others have JSON.
func plain(status int, text string) response {
	return response{status: status, body: []byte(text), header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}}
}

// member is a member of the JSON object that an answer has for a body.
func (r response) member(name string) any {
	var object map[string]any
	if json.Unmarshal(r.body, &object) != nil {
		return nil // scripted, and no object
	}
	return object[name]
}

// split is the parts of a place: city, state, country.
func split(place string) (city, state, country any) {
	parts := strings.Split(place, ", ")
	city, country = orNull(parts[0]), orNull(parts[len(parts)-1])
	if len(parts) == 3 {
		state = parts[1]
	}
	return city, state, country
}
