package described_test

import (
	"errors"
	"strings"
	"testing"

	"backstop/providers/described"
)

// rightDescription is whole; each wrong one differs from it in one place.
const rightDescription = `name: acme
docs: https://acme.example/docs
base_url: https://api.acme.example
key_env: ACME_API_KEY
limits: [{rate: 10, per: 1s}]
needs: [[email], [name, domain]]
request:
  method: POST
  path: /v1/people
  query: {fields: all}
  headers: {X-Version: "2"}
  auth: bearer
  json: {email: "{email}", full_name: "{name}", site: "{domain}"}
poll:
  path: /v1/results/{ticket}
  ticket: id
answers:
  - {status: 200, when: {person: filled}, class: ok}
  - {status: [202, 4xx], class: pending, wait: 5s}
fields:
  person.title: person.job
  person.email_status: {path: state, map: {good: valid}}
identity: {email: person.email}
as_of: person.seen
confidence: {at: score, of: 10}
`

const (
	fieldNames = "person.name, person.given_name, person.family_name, person.email, person.email_status, person.title, person.role, " +
		"person.seniority, person.linkedin, person.location, person.phone, company.name, company.domain, company.industry, " +
		"company.headcount, company.location, company.phone, company.linkedin"
	classNames = "ok, no_data, pending, transient, rate_limited, quota_exhausted, auth, invalid_input, forbidden, our_bug"
	topKeys    = "name, docs, base_url, key_env, limits, needs, request, poll, answers, fields, identity, as_of, confidence"
	wordNames  = "email, name, given_name, family_name, company, domain, linkedin, phone"
	conditions = "there is no such condition: use one of present, absent, null, empty, filled, or {equals: …}, {one_of: …}, {contains: …}, {at_least: …}, {below: …}"
	pathForm   = "write it like company.name, data[0].name, data[*].name or data[?type=work].name"
	secret     = "may be a secret: leave it out. The API key goes where request.auth says, and comes from the environment"
)

func TestARightDescriptionIsRead(t *testing.T) {
	d, err := described.ParseDescription("acme.yaml", []byte(rightDescription))
	if err != nil || d.Name != "acme" {
		t.Fatalf("%v, %v", d, err)
	}
	if f := d.Facts(); f.BaseURL != "https://api.acme.example" || f.KeyEnv != "ACME_API_KEY" || len(f.Limits) != 1 || f.Limits[0].Rate != 10 {
		t.Errorf("facts are %+v", f)
	}
}

func TestWrongDescriptionsSayWhereAndWhatToDo(t *testing.T) {
	for _, c := range []struct{ name, old, new, says string }{
		{"an unknown key", "as_of:", "asof:", "24: asof: there is no such key: use one of " + topKeys},
		{"an unknown key below", "  method: POST", "  methods: POST", "8: request.methods: there is no such key: use one of method, path, query, headers, json, form, auth, idempotency_header"},
		{"a key twice", "  method: POST", "  auth: basic", "12: request.auth: stands twice: keep one of them"},
		{"a wrong type", "name: acme", "name: [acme]", "1: name: must be text: put it into quotes if it looks like something else"},
		{"a number for a text", "name: acme", "name: 7", "1: name: must be text: put it into quotes if it looks like something else"},
		{"a list for a mapping", "identity: {email: person.email}", "identity: [x]", "23: identity: must be a mapping of keys to values"},
		{"a name with blanks", "name: acme", "name: Acme Inc", "1: name: must be a lower-case letter and at most 30 more letters, digits, - or _"},
		{"a name that is built in", "name: acme", "name: clearbit", "1: name: clearbit is the name of something built in: choose another"},
		{"no docs", "docs: https://acme.example/docs\n", "", "1: docs: is missing: name the page of the vendor that says how the API answers"},
		{"a base_url without a scheme", "https://api.acme.example", "api.acme.example", "3: base_url: is not an http or https address: give scheme and host, and a prefix if all paths have it"},
		{"a key for the name of a variable", "ACME_API_KEY", "sk-123", "4: key_env: must be the name of an environment variable, such as APOLLO_API_KEY; the key itself never stands in a description"},
		{"no key_env", "key_env: ACME_API_KEY\n", "", "1: key_env: is missing: name the environment variable that holds the key, such as APOLLO_API_KEY"},
		{"a key that is not used", "auth: bearer", "auth: none", "4: key_env: names a key that request.auth does not use: say where it goes, or leave key_env out"},
		{"a limit of nothing", "rate: 10", "rate: 0", "5: limits[0].rate: must be a whole number from 1 to 1000000"},
		{"a limit in no time", "per: 1s", "per: soon", "5: limits[0].per: must be a time such as 30s or 1m"},
		{"no limits", "limits: [{rate: 10, per: 1s}]", "limits: []", "5: limits: must be a list with something in it"},
		{"a value that no lead has", "[name, domain]", "[name, shoe_size]", "6: needs[1][1]: a lead has no \"shoe_size\": use one of " + wordNames},
		{"a set that is never used", "[name, domain]", "[email, name, domain]", "6: needs[1]: is never used: a lead that has these also has those of needs[0], which comes first; move this one up"},
		{"another method", "method: POST", "method: PATCH", "8: request.method: must be GET or POST"},
		{"a body on GET", "method: POST", "method: GET", "13: request.json: a GET request has no body: use query, or method: POST"},
		{"two bodies", "  auth: bearer", "  form: {a: b}\n  auth: bearer", "14: request.json: stands beside form: a request has one body"},
		{"a path without a slash", "path: /v1/people", "path: v1/people", "9: request.path: must begin with a slash and have no query, fragment or blank: parameters go under query"},
		{"a path with a query", "path: /v1/people", "path: /v1/people?a=b", "9: request.path: must begin with a slash and have no query, fragment or blank: parameters go under query"},
		{"a path that may be blank", "path: /v1/people", "path: /v1/{email}", "9: request.path: {email} would be blank when the lead is asked about by name and domain: a path needs a value that every set of needs has"},
		{"an unknown placeholder", "{email}\"", "{e-mail}\"", "13: request.json.email: there is no placeholder {e-mail}: use one of {email}, {name}, {given_name}, {family_name}, {company}, {domain}, {linkedin}, {phone}; the API key goes where request.auth says"},
		{"a placeholder that is never filled", "{email}\"", "{phone}\"", "13: request.json.email: {phone} is never filled: no set of needs has it"},
		{"a brace too few", "{email}\"", "{email\"", "13: request.json.email: has a brace without its counterpart: write a placeholder as {email}"},
		{"a ticket in the request", "{email}\"", "{ticket}\"", "13: request.json.email: only poll has a {ticket}"},
		{"a literal Authorization", "X-Version: \"2\"", "Authorization: hidden", "11: request.headers.Authorization: " + secret},
		{"a literal key in a header", "X-Version: \"2\"", "X-Api-Key: hidden", "11: request.headers.X-Api-Key: " + secret},
		{"a literal key in the query", "fields: all", "api_key: hidden", "10: request.query.api_key: " + secret},
		{"a literal key in the body", "site: ", "token: hidden, site: ", "13: request.json.token: " + secret},
		{"a bearer token under another name", "X-Version: \"2\"", "X-Pass: Bearer hidden", "11: request.headers.X-Pass: " + secret},
		{"a header that the request makes", "X-Version", "Content-Type", "11: request.headers.Content-Type: is set by the request itself: leave it out"},
		{"a header with a control character", `X-Version: "2"`, `X-Version: "2\n"`, "11: request.headers.X-Version: has a character that no header can carry"},
		{"another way for the key", "auth: bearer", "auth: {cookie: k}", "12: request.auth: must be bearer, basic, {header: NAME}, {query: NAME} or none; the key itself comes from key_env"},
		{"a key in place of a header's name", "auth: bearer", `auth: {header: "hid den"}`, "12: request.auth.header: is no name of a header or parameter: the key itself never stands in a description"},
		{"a poll that forgets its ticket", "/v1/results/{ticket}", "/v1/results", "15: poll: never uses {ticket}: put it where the API expects it, such as path: /v1/results/{ticket}"},
		{"a poll without the ticket's path", "\n  ticket: id", "", "15: poll.ticket: is missing: give the path to it in the first answer, such as request_id"},
		{"an unknown class", "class: ok", "class: okay", "18: answers[0].class: there is no class \"okay\": use one of " + classNames},
		{"partial as a class", "class: pending", "class: partial", "19: answers[1].class: partial follows from the fields that an answer has: use ok"},
		{"no class", "class: pending, ", "", "19: answers[1].class: is missing: use one of " + classNames},
		{"no row with data", "class: ok", "class: no_data", "18: answers: has no row of the class ok: say which answer has data, such as {status: 200, when: {person: filled}, class: ok}"},
		{"data by the status alone", "when: {person: filled}, ", "", "18: answers[0].when: is missing: a status alone does not show that an answer has data; name a path that only data has, such as {person: filled}"},
		{"a row that never matches", "fields:\n", "  - {status: 404, class: no_data}\nfields:\n", "20: answers[2]: can never match: answers[1] takes all its statuses before it; move this one up"},
		{"a status that never comes", "[202, 4xx]", "[202, 6xx]", "19: answers[1].status[1]: never comes: use a number from 200 to 599, or 2xx, 3xx, 4xx or 5xx"},
		{"an interim status", "[202, 4xx]", "100", "19: answers[1].status: never comes: use a number from 200 to 599, or 2xx, 3xx, 4xx or 5xx"},
		{"an unknown condition", "person: filled", "person: full", "18: answers[0].when.person: " + conditions},
		{"an unknown condition with a value", "person: filled", "person: {is: x}", "18: answers[0].when.person: " + conditions},
		{"a condition on no number", "person: filled", "score: {at_least: much}", "18: answers[0].when.score.at_least: must be a number"},
		{"a path with a blank key", "person: filled", "person..x: filled", "18: answers[0].when.person..x: a key is empty or has a blank or a bracket in it: " + pathForm},
		{"a path with an open bracket", "person.job", `"jobs[0"`, "21: fields.person.title: a bracket is not closed: " + pathForm},
		{"a path with a word in brackets", "person.job", `"jobs[last]"`, "21: fields.person.title: the brackets must hold a number, * or ?key=value: " + pathForm},
		{"a path without a dot", "person.job", `"jobs[0]name"`, "21: fields.person.title: a dot is missing behind a bracket: " + pathForm},
		{"a wait for what is not waited for", "class: pending", "class: our_bug", "19: answers[1].wait: only answers of the classes pending, rate_limited and transient are waited for"},
		{"too long a wait", "wait: 5s", "wait: 1h", "19: answers[1].wait: must be at most 15m0s"},
		{"a detail that quotes", "wait: 5s", "detail: 'see <a@b>'", `19: answers[1].detail: must be a few plain words, at most 80 bytes without any of @<>{}": it is never a part of the answer`},
		{"an unknown field", "person.title:", "person.shoe_size:", "21: fields.person.shoe_size: there is no such field of a profile: use one of " + fieldNames},
		{"no field", "fields:\n  person.title: person.job\n  person.email_status: {path: state, map: {good: valid}}", "fields: {}", "20: fields: has no field: a provider that fills nothing need not be asked"},
		{"an unknown state of an address", "good: valid", "good: fine", `22: fields.person.email_status.map.good: there is no state "fine" of an address: use one of valid, invalid, accept_all, webmail, disposable, unknown`},
		{"a source with two places", "{path: state, map: {good: valid}}", "{path: a, join: [b]}", "22: fields.person.email_status: must have either path or join"},
		{"a confidence of nothing", "of: 10", "of: 0", "25: confidence.of: must be more than 0"},
		{"an anchor", "docs: https", "docs: &a https", "2: has an anchor or an alias: write the value out"},
		{"no YAML", "  method: POST", "\tmethod: POST", "8: is not YAML: look at the indentation, quotes and brackets here"},
		{"two documents", "name: acme", "name: acme\n---\nname: other", "1: has more than one document: keep one description in a file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(rightDescription, c.old, c.new, 1)
			if text == rightDescription {
				t.Fatalf("%q is not in the right description", c.old)
			}
			_, err := described.ParseDescription("acme.yaml", []byte(text))
			if err == nil {
				t.Fatal("it was read")
			}
			if !strings.Contains("\n"+err.Error()+"\n", "\nacme.yaml:"+c.says+"\n") {
				t.Errorf("error is\n%v\nwant\nacme.yaml:%s", err, c.says)
			}
			if strings.Contains(err.Error(), "hidden") {
				t.Errorf("the error quotes a secret: %v", err)
			}
		})
	}
}

func TestAnEmptyOrEndlessDescriptionIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"":                              "x.yaml:1: is empty: begin with name, base_url, request, answers and fields",
		strings.Repeat("# a\n", 20_000): "x.yaml:1: is longer than 65536 bytes: a description is short",
		"needs: [" + strings.Repeat("[email],", 201) + "]": "x.yaml:1: has more than 200 entries",
		"just a text": "x.yaml:1: must be a mapping of keys to values",
	} {
		if _, err := described.ParseDescription("x.yaml", []byte(text)); err == nil || err.Error() != says {
			t.Errorf("error is %v, want %s", err, says)
		}
	}
}

// Who writes a description sees everything at once, in the order of the file.
func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	text := strings.NewReplacer("class: ok", "class: okay", "rate: 10", "rate: none", "person.title", "person.shoe").Replace(rightDescription)
	_, err := described.ParseDescription("acme.yaml", []byte(text))
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("error is %v", err)
	}
	var lines []int
	for _, e := range joined.Unwrap() {
		var d *described.DescriptionError
		if !errors.As(e, &d) || d.File != "acme.yaml" || d.Key == "" || d.What == "" {
			t.Fatalf("one of the errors is %v", e)
		}
		lines = append(lines, d.Line)
	}
	if len(lines) != 4 || lines[0] != 5 || lines[1] != 18 || lines[2] != 18 || lines[3] != 21 {
		t.Errorf("errors of the lines %v:\n%v", lines, err)
	}
}
