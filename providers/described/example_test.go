package described_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"backstop/lead"
	"backstop/providers/described"
	"backstop/providers/httpjson"
)

const acme = `
name: acme
docs: https://acme.example/api
base_url: https://api.acme.example
key_env: ACME_API_KEY
limits: [{rate: 5, per: 1s}]
needs: [[email]]
request: {path: /v1/person, query: {email: "{email}"}, auth: {header: X-Key}}
answers:
  - {status: 200, when: {person: filled}, class: ok}
  - {status: 404, class: no_data, detail: nobody of that address}
fields:
  person.name: person.full_name
  person.title: person.job
`

// A provider is described in YAML and asked like any other.
func ExampleParseDescription() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.FormValue("email") != "ann.lee@example.com" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		io.WriteString(w, `{"person":{"full_name":"Ann Lee","job":"CTO"}}`)
	}))
	defer api.Close()

	d, err := described.ParseDescription("acme.yaml", []byte(acme))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := d.New("acme", httpjson.Options{BaseURL: api.URL, APIKey: "secret", HTTP: api.Client()})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, email := range []string{"ann.lee@example.com", "nobody@example.com"} {
		calls, _ := p.Plan(lead.Lead{Email: email}, []lead.Field{lead.PersonName, lead.PersonTitle})
		a := calls[0].Do(context.Background())
		fmt.Printf("%s: %q, %q; %q\n", a.Class, a.Profile[lead.PersonName], a.Profile[lead.PersonTitle], a.Detail)
	}
	_, err = described.ParseDescription("acme.yaml", []byte("name: acme\nrate: 5\n"))
	fmt.Println(err != nil)

	// Output:
	// ok: "Ann Lee", "CTO"; ""
	// no_data: "", ""; "nobody of that address"
	// true
}
