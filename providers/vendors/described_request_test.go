package vendors_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/described"
	"backstop/providers/httpjson"
)

// described makes a provider of a description with the given request and poll, of
// an API at base.
func describedBy(t *testing.T, base, needs, request, rest string) providers.Provider {
	t.Helper()
	text := "name: acme\ndocs: d\nbase_url: https://acme.example\nkey_env: K\nlimits: [{rate: 1, per: 1s}]\nneeds: " + needs +
		"\nrequest: " + request + "\n" + rest + `
answers:
  - {status: 200, when: {title: filled}, class: ok}
  - {status: 202, class: pending}
fields: {person.title: title, company.domain: site, person.linkedin: linkedin}
`
	d, err := described.ParseDescription("acme.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(d.Name, httpjson.Options{BaseURL: base, APIKey: secretKey, HTTP: client(t)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// One call is one request, with the key where the API wants it and every value
// escaped for where it stands.
func TestRequestsAreMadeAsDescribed(t *testing.T) {
	l := lead.Lead{Email: "maria+x@acme.example", Name: `Maria "M" O'Neil/Garcia`, Company: "A&B = C", LinkedIn: "linkedin.com/in/maria"}
	for _, c := range []struct {
		name, needs, request string
		line                 string // method and URL
		header               string // one header and its value
		body                 string
	}{
		{"a value in the path", "[[name]]", `{method: GET, path: "/v1/{name}/x", auth: bearer}`,
			"GET /v1/Maria%20%22M%22%20O%27Neil%2FGarcia/x", "Authorization: Bearer " + secretKey, ""},
		{"a value in the query", "[[email]]", `{method: GET, path: /v1, query: {e: "{email}", all: true, n: 7}, auth: {query: api_key}}`,
			"GET /v1?all=true&api_key=" + secretKey + "&e=maria%2Bx%40acme.example&n=7", "Accept: application/json", ""},
		{"a value in a header", "[[email]]", `{method: GET, path: /v1, headers: {X-About: "mail {email}"}, auth: {header: X-Key}}`,
			"GET /v1", "X-About: mail maria+x@acme.example", ""},
		{"the key in a header", "[[email]]", `{path: /v1, auth: {header: X-Key}}`, "POST /v1", "X-Key: " + secretKey, ""},
		{"no key", "[[email]]", `{path: /v1, auth: none}`, "POST /v1", "Authorization: ", ""},
		{"values in JSON", "[[name, company]]", `{path: /v1, auth: bearer, json: {who: {full: "{name}"}, at: ["{company}"], limit: 1, exact: true, none: null, note: ""}}`,
			"POST /v1", "Content-Type: application/json", `{"at":["A&B = C"],"exact":true,"limit":1,"none":null,"note":"","who":{"full":"Maria \"M\" O'Neil/Garcia"}}`},
		{"blanks are left out of JSON", "[[email], [name, company]]", `{path: /v1, auth: bearer, json: {e: "{email}", who: {full: "{name}"}, all: ["{company}", {c: "{company}"}], mixed: "{email} {name}"}}`,
			"POST /v1", "Content-Type: application/json", `{"e":"maria+x@acme.example","mixed":"maria+x@acme.example"}`},
		{"blanks are left out of a form", "[[email], [name, company]]", `{path: /v1, auth: bearer, form: {e: "{email}", n: "{name}"}}`,
			"POST /v1", "Content-Type: application/x-www-form-urlencoded", "e=maria%2Bx%40acme.example"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				name, _, _ := strings.Cut(c.header, ": ")
				got = append(got, r.Method+" "+r.RequestURI, name+": "+r.Header.Get(name), same(string(body)))
				w.WriteHeader(500)
			})
			rest := ""
			if strings.Contains(c.request, "auth: none") {
				rest = "# no key"
			}
			p := describedKeyless(t, base, c.needs, c.request, rest)
			ask(t, t.Context(), p, l, lead.PersonTitle)
			if want := []string{c.line, c.header, same(c.body)}; !slices.Equal(got, want) {
				t.Errorf("asked\n%q\nwant\n%q", got, want)
			}
		})
	}
}

// describedKeyless is described, without key_env where there is no key.
func describedKeyless(t *testing.T, base, needs, request, rest string) providers.Provider {
	if rest == "" {
		return describedBy(t, base, needs, request, rest)
	}
	text := "name: acme\ndocs: d\nbase_url: https://acme.example\nlimits: [{rate: 1, per: 1s}]\nneeds: " + needs + "\nrequest: " + request +
		"\nanswers: [{status: 200, when: {title: filled}, class: ok}]\nfields: {person.title: title}\n"
	d, err := described.ParseDescription("acme.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(d.Name, httpjson.Options{BaseURL: base, APIKey: secretKey, HTTP: client(t)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// same is JSON in one spelling, and any other text as it is.
func same(body string) string {
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return body
	}
	b, err := json.Marshal(v)
	if err != nil {
		return body
	}
	return string(b)
}

// A value that cannot be sent is not sent.
func TestValuesThatFitNowhereEndTheCall(t *testing.T) {
	base := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	for name, c := range map[string]struct {
		request string
		lead    lead.Lead
	}{
		"a step out of the path":      {`{method: GET, path: "/v1/{name}", auth: bearer}`, lead.Lead{Name: ".."}},
		"a header in two lines":       {`{path: /v1, headers: {X-Name: "{name}"}, auth: bearer}`, lead.Lead{Name: "Maria\r\nX-Other: 1"}},
		"a header with other letters": {`{path: /v1, headers: {X-Name: "{name}"}, auth: bearer}`, lead.Lead{Name: "José"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := ask(t, t.Context(), describedBy(t, base, "[[name]]", c.request, ""), c.lead, lead.PersonTitle)
			if a.Class != lead.ClassInvalidInput || a.Billed || a.Status != 0 {
				t.Errorf("answer is %+v", a)
			}
		})
	}
}

func TestAPollIsMadeAsDescribed(t *testing.T) {
	var got []string
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.RequestURI+" "+r.Header.Get("Authorization"))
		w.WriteHeader(202)
		io.WriteString(w, `{"ids":[{"id":12345678901234567890}]}`)
	})
	p := describedBy(t, base, "[[email]]", "{path: /v1, auth: bearer}", `poll: {path: "/v1/{ticket}/r", query: {e: "{email}"}, ticket: [id, "ids[*].id"]}`)
	calls, _ := p.Plan(lead.Lead{Email: "a@acme.example"}, want)
	first := calls[0].Do(t.Context())
	second := calls[0].Poll(t.Context(), "a b/../c")
	if first.Ticket != "12345678901234567890" || second.Class != lead.ClassPending || second.Ticket != "a b/../c" {
		t.Errorf("answers are %+v and %+v", first, second)
	}
	if want := []string{"POST /v1 Bearer " + secretKey, "GET /v1/a%20b%2F..%2Fc/r?e=a%40acme.example Bearer " + secretKey}; !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
	if a := calls[0].Poll(t.Context(), ".."); a.Class != lead.ClassInvalidInput || len(got) != 2 {
		t.Errorf("a ticket that steps out of the path is %+v", a)
	}
}

func TestPlansOfADescribedProvider(t *testing.T) {
	for _, c := range []struct {
		name, needs string
		lead        lead.Lead
		missing     []lead.Field
		subject     string // "-": no call
	}{
		{"by address", "[[email]]", lead.Lead{Email: "An.n+x@googlemail.com"}, want, "ann@gmail.com"},
		{"without an address", "[[email]]", lead.Lead{Name: "Ann"}, want, "-"},
		{"nothing that it fills is missing", "[[email]]", lead.Lead{Email: "a@acme.example"}, []lead.Field{lead.PersonPhone}, "-"},
		{"nothing is missing", "[[email]]", lead.Lead{Email: "a@acme.example"}, nil, "-"},
		{"the first set of which it has all", "[[email], [name, domain]]", lead.Lead{Name: "Ann Lee", Domain: "acme.example"}, want, "name:ann lee@acme.example"},
		{"another domain than the one it is asked by", "[[domain]]", lead.Lead{Domain: "acme.example"}, []lead.Field{lead.CompanyDomain}, "-"},
		{"what the profile cannot tell the name may", "[[linkedin], [name, company]]", lead.Lead{Name: "Ann Lee", Company: "Acme", LinkedIn: "linkedin.com/in/a"},
			[]lead.Field{lead.PersonLinkedIn}, "name:ann lee@acme"},
		{"a set of which something lacks", "[[name, domain]]", lead.Lead{Name: "Ann Lee", Company: "Acme"}, want, "-"},
		{"a mail host is no company", "[[name, domain]]", lead.Lead{Name: "Ann Lee", Email: "ann@gmail.com"}, want, "-"},
		{"a company, by its domain", "[[domain]]", lead.Lead{Email: "a@acme.example"}, want, "domain:acme.example"},
		{"a profile, of somebody with an address", "[[linkedin]]", lead.Lead{Email: "a@acme.example", LinkedIn: "linkedin.com/in/a"}, want, "a@acme.example"},
		{"a profile alone", "[[linkedin]]", lead.Lead{LinkedIn: "linkedin.com/in/a"}, want, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls, why := describedBy(t, "", c.needs, "{path: /v1/match, auth: bearer}", "").Plan(c.lead, c.missing)
			if c.subject == "-" {
				if len(calls) != 0 || why == "" {
					t.Errorf("plan is %v, %q", calls, why)
				}
				return
			}
			if len(calls) != 1 || why != "" || calls[0].Subject != c.subject || calls[0].Endpoint != "v1/match" || calls[0].Poll != nil {
				t.Errorf("plan is %+v, %q, want one about %q", calls, why, c.subject)
			}
		})
	}
}

// What is sent beside the subject makes another question.
func TestTheVariantTellsQuestionsApart(t *testing.T) {
	p := describedBy(t, "", "[[email, phone], [email]]", "{path: /v1, auth: bearer, form: {e: '{email}', p: '{phone}'}}", "")
	variant := func(l lead.Lead) string {
		calls, _ := p.Plan(l, want)
		return calls[0].Variant
	}
	without := variant(lead.Lead{Email: "a@acme.example", Title: "CTO"})
	one := variant(lead.Lead{Email: "a@acme.example", Phone: "+1 555-555-0100"})
	same := variant(lead.Lead{Email: "a@acme.example", Phone: "+1 555-555-0100", Title: "CTO"})
	other := variant(lead.Lead{Email: "a@acme.example", Phone: "+1 555-555-0199"})
	if one != same || one == other || one == without || strings.Contains(one, "555") {
		t.Errorf("variants are %q, %q, %q and %q", without, one, same, other)
	}
}
