package sandbox_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"backstop/providers/sandbox"
)

// ask makes one request and gives the status, the body, and the body as JSON if
// it is an object.
func ask(t *testing.T, method, url, header, body string) (status int, text string, object map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if name, value, ok := strings.Cut(header, ": "); ok {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(raw, &object); err != nil {
			t.Errorf("%s says it is JSON: %v", raw, err)
		}
	}
	return res.StatusCode, string(raw), object
}

func TestEachVendorAnswersInItsOwnWay(t *testing.T) {
	s := start(t, sandbox.Script{Known: map[string]float64{sandbox.FullContact: 0}})
	const who = `{"email":"ann.lee@acme.example"}`
	for _, c := range []struct {
		name, method, path, header, body string
		want                             int
		says                             string
	}{
		{"apollo knows", "POST", "/apollo/api/v1/people/match", "X-Api-Key: k", who, 200, `"name":"Ann Lee"`},
		{"apollo by name", "POST", "/apollo/api/v1/people/match", "X-Api-Key: k", `{"name":"Ann Lee","domain":"acme.example"}`, 200, `"name":"Ann Lee"`},
		{"apollo by profile", "POST", "/apollo/api/v1/people/match", "X-Api-Key: k", `{"linkedin_url":"https://www.linkedin.com/in/ann"}`, 200, "linkedin.com/in/ann"},
		{"apollo without a key", "POST", "/apollo/api/v1/people/match", "Authorization: Bearer k", who, 401, "Invalid access credentials."},
		{"apollo without a person", "POST", "/apollo/api/v1/people/match", "X-Api-Key: k", "{", 400, "error"},
		{"apollo by GET", "GET", "/apollo/api/v1/people/match", "X-Api-Key: k", "", 404, "error"},
		{"fullcontact does not know", "POST", "/fullcontact/v3/person.enrich", "Authorization: Bearer k", who, 404, "Profile not found."},
		{"fullcontact without a key", "POST", "/fullcontact/v3/person.enrich", "", who, 403, "invalid or missing"},
		{"abstract", "GET", "/abstract/v1/?api_key=k&email=a.b@acme.example", "", "", 200, "email_deliverability"},
		{"abstract without a key", "GET", "/abstract/v1/?email=a.b@acme.example", "", "", 401, "unauthorized"},
		{"dropcontact gives out a ticket", "POST", "/dropcontact/v1/enrich/all", "X-Access-Token: k", `{"data":[` + who + `]}`, 200, "request_id"},
		{"dropcontact of an unknown ticket", "GET", "/dropcontact/v1/enrich/all/nosuch", "X-Access-Token: k", "", 200, "not ready yet"},
		{"dropcontact without a key", "POST", "/dropcontact/v1/enrich/all", "", who, 401, "Invalid access token"},
		{"zerobounce", "GET", "/zerobounce/v2/validate?api_key=k&email=a.b@acme.example", "", "", 200, `"address":"a.b@acme.example"`},
		{"zerobounce of a role", "GET", "/zerobounce/v2/validate?api_key=k&email=info@acme.example", "", "", 200, "role_based"},
		{"zerobounce of no address", "GET", "/zerobounce/v2/validate?api_key=k&email=x", "", "", 200, "failed_syntax_check"},
		{"zerobounce without a key", "GET", "/zerobounce/v2/validate?email=a.b@acme.example", "", "", 200, "ran out of credits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, text, _ := ask(t, c.method, s.URL("")+c.path, c.header, c.body)
			if status != c.want || !strings.Contains(text, c.says) {
				t.Errorf("answer is %d %s, want %d with %q", status, text, c.want, c.says)
			}
		})
	}
}

// The page has a row for each API that is served.
func TestThePageNamesEveryAPI(t *testing.T) {
	page, err := os.ReadFile("../../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{
		sandbox.Clearbit: "| Clearbit | `combined/find`", sandbox.Hunter: "| Hunter | ", sandbox.PDL: "| People Data Labs | `person/enrich`",
		sandbox.Abstract: "| Abstract | `v1`", sandbox.Apollo: "| Apollo | `people/match`", sandbox.Dropcontact: "| Dropcontact | `enrich/all`, `enrich/all/result`",
		sandbox.FullContact: "| FullContact | `person.enrich`", sandbox.ZeroBounce: "| ZeroBounce | `validate`",
	}
	for _, name := range sandbox.Providers() {
		if row := rows[name]; row == "" || strings.Count(string(page), "\n"+row) != 1 {
			t.Errorf("%s has no row %q", name, row)
		}
	}
}

// A result is there the second time that it is asked for, and charged once.
func TestATicketIsRedeemed(t *testing.T) {
	s := start(t, sandbox.Script{})
	base, key := s.URL(sandbox.Dropcontact)+"/v1/enrich/all", "X-Access-Token: k"
	_, text, first := ask(t, "POST", base, key, `{"data":[{"email":"maria.garcia@acme.example"}]}`)
	ticket, _ := first["request_id"].(string)
	if ticket == "" || strings.Contains(text, "maria") {
		t.Fatalf("the first answer is %s", text)
	}
	for i, want := range []bool{false, true, true} {
		_, text, object := ask(t, "GET", base+"/"+ticket, key, "")
		if object["success"] != want || want != strings.Contains(text, "Maria Garcia") {
			t.Errorf("answer %d is %s", i+1, text)
		}
	}
	await(t, func() bool { return s.Books().Providers[sandbox.Dropcontact].Open == 0 })
	if b := s.Books().Providers[sandbox.Dropcontact]; b.Billed != 1 || b.People != 1 || b.Calls != 4 || b.ByEndpoint["enrich/all/result"] != 3 {
		t.Errorf("books are %+v", b)
	}
}
