package sandbox_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"backstop/providers/sandbox"
)

// fetch asks one of the APIs with any key.
func fetch(t *testing.T, s *sandbox.Server, path string) (status int, header http.Header, body map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL("")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	req.Header.Set("X-API-KEY", "k")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &body); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return res.StatusCode, res.Header, body
}

// at is a value behind a path of keys in a body.
func at(body any, path ...string) any {
	for _, key := range path {
		object, _ := body.(map[string]any)
		body = object[key]
	}
	return body
}

func TestEndpointsAnswerInTheirOwnForm(t *testing.T) {
	s := start(t, sandbox.Script{})
	for _, c := range []struct {
		path   string
		status int
		where  []string
		want   any
	}{
		{"/clearbit/v2/people/find?email=ann.lee@acme.example", 200, []string{"name", "fullName"}, "Ann Lee"},
		{"/clearbit/v2/companies/find?domain=acme.example", 200, []string{"domain"}, "acme.example"},
		{"/clearbit/v2/companies/find?email=ann.lee@acme.example", 400, []string{"error", "type"}, nil},
		{"/clearbit/v2/combined/find?email=ann.lee@acme.example", 200, []string{"person", "employment", "domain"}, "acme.example"},
		{"/hunter/v2/people/find?email=ann.lee@acme.example", 200, []string{"data", "name", "fullName"}, "Ann Lee"},
		{"/hunter/v2/companies/find?domain=acme.example", 200, []string{"data", "domain"}, "acme.example"},
		{"/hunter/v2/email-finder?domain=acme.example&first_name=Ann&last_name=Lee", 200, []string{"data", "email"}, "ann.lee@acme.example"},
		{"/hunter/v2/email-finder?company=Acme+Robotics&full_name=Zo%C3%AB+O%27Neil", 200, []string{"data", "email"}, "zoe.oneil@acme-robotics.example"},
		{"/hunter/v2/email-finder?full_name=Ann+Lee", 400, nil, nil},
		{"/hunter/v2/email-finder?domain=acme.example", 400, nil, nil},
		{"/pdl/v5/person/enrich?email=ann.lee@acme.example", 200, []string{"data", "full_name"}, "ann lee"},
		{"/pdl/v5/person/enrich?name=Ann+Lee&company=acme.example", 200, []string{"data", "work_email"}, "ann.lee@acme.example"},
		{"/pdl/v5/person/enrich?profile=linkedin.com/in/annlee", 200, []string{"status"}, 200.0},
		{"/pdl/v5/person/enrich?name=Ann+Lee", 400, []string{"error", "type"}, "invalid_request_error"},
		{"/pdl/v5/person/enrich", 400, []string{"status"}, 400.0},
		{"/pdl/v5/person", 404, []string{"status"}, 404.0},
	} {
		status, _, body := fetch(t, s, c.path)
		if got := at(body, c.where...); status != c.status || c.want != nil && got != c.want {
			t.Errorf("%s: %d with %v, want %d with %v", c.path, status, got, c.status, c.want)
		}
	}
}

func TestTheAccountIsFreeAndSaysWhenItIsRenewed(t *testing.T) {
	s := start(t, sandbox.Script{Limits: map[string]sandbox.Limit{sandbox.Hunter: {Rate: 1, Per: time.Hour}}})
	for range 3 {
		status, _, body := fetch(t, s, "/hunter/v2/account")
		date, _ := at(body, "data", "reset_date").(string)
		renewed, err := time.Parse(time.DateOnly, date)
		if left := time.Until(renewed); status != 200 || err != nil || left <= 0 || left > 31*24*time.Hour {
			t.Errorf("%d with the date %q", status, date)
		}
	}
	if b := s.Books().Providers[sandbox.Hunter]; b.OverLimit != 0 || b.MostInAnyWindow != 0 || b.Billed != 0 || b.ByEndpoint["account"] != 3 {
		t.Errorf("books are %+v", b)
	}
}

// Who is not found is told in both ways.
func TestTheFinderDoesNotFindInTwoWays(t *testing.T) {
	s := start(t, sandbox.Script{Known: map[string]float64{sandbox.Hunter: 0}})
	missing, null := 0, 0
	for _, l := range sandbox.SampleLeads(60, 2) {
		given, family := strings.ReplaceAll(l.GivenName, " ", "+"), strings.ReplaceAll(l.FamilyName, " ", "+")
		if given == "" {
			continue
		}
		switch status, _, body := fetch(t, s, "/hunter/v2/email-finder?domain=acme.example&first_name="+given+"&last_name="+family); {
		case status == 404:
			missing++
		case at(body, "data", "email") == nil:
			null++
		}
	}
	if missing < 10 || null < 10 {
		t.Errorf("%d were 404, %d were null", missing, null)
	}
	if b := s.Books().Providers[sandbox.Hunter]; b.Billed != 0 || b.People != b.Calls && b.MostForOnePerson == 1 {
		t.Errorf("books are %+v", b)
	}
}

func TestPeopleDataLabsIsNotAlwaysSure(t *testing.T) {
	s := start(t, sandbox.Script{Limits: map[string]sandbox.Limit{sandbox.PDL: {Rate: 1000, Per: time.Minute}}})
	low, refused := 0, 0
	for _, l := range sandbox.SampleLeads(200, 2) {
		if l.Email == "" {
			continue
		}
		status, header, body := fetch(t, s, "/pdl/v5/person/enrich?email="+l.Email)
		if sure, _ := at(body, "likelihood").(float64); status != 200 || sure != float64(sandbox.Likelihood(l.Email)) {
			t.Fatalf("%d with the likelihood %v", status, sure)
		} else if sure < 6 {
			low++
		}
		if reset, err := time.Parse(time.RFC3339, header.Get("X-RateLimit-Reset")); err != nil || time.Until(reset) > 62*time.Second {
			t.Errorf("reset is %q", header.Get("X-RateLimit-Reset"))
		}
		if status, _, _ := fetch(t, s, "/pdl/v5/person/enrich?min_likelihood=6&email="+l.Email); status == 404 {
			refused++
		}
	}
	if low < 5 || low > 50 || low != refused {
		t.Errorf("%d answers are unlikely, %d were refused", low, refused)
	}
}

// What each vendor charges for, and for what only once.
func TestTheBooksSayWhatIsCharged(t *testing.T) {
	s := start(t, sandbox.Script{Faults: []sandbox.Fault{{Match: "truncated*", Kind: sandbox.KindTruncate}, {Match: "down*", Status: 503}}})
	for _, path := range []string{
		"/clearbit/v2/people/find?email=ann.lee@acme.example", "/clearbit/v2/combined/find?email=Ann.Lee@acme.example",
		"/clearbit/v2/companies/find?domain=acme.example", "/clearbit/v2/combined/find?email=info@acme.example", "/clearbit/v2/combined/find?email=down@acme.example",
		"/hunter/v2/people/find?email=ann.lee@acme.example", "/hunter/v2/people/find?email=ann.lee@acme.example", "/hunter/v2/email-verifier?email=x@gmail.com",
		"/pdl/v5/person/enrich?email=ann.lee@acme.example", "/pdl/v5/person/enrich?email=ann.lee@acme.example", "/pdl/v5/person/enrich",
	} {
		fetch(t, s, path)
	}
	if status, _, _ := get(t.Context(), s, sandbox.Clearbit, "truncated@acme.example"); status != 0 {
		t.Errorf("a truncated answer has the status %d", status)
	}
	await(t, func() bool { return s.Books().Providers[sandbox.Clearbit].Open == 0 })
	b := s.Books().Providers
	if c, h, p := b[sandbox.Clearbit], b[sandbox.Hunter], b[sandbox.PDL]; c.Billed != 3 || h.Billed != 2 || p.Billed != 2 {
		t.Errorf("billed are %d, %d and %d", c.Billed, h.Billed, p.Billed)
	}
	if c := b[sandbox.Clearbit]; c.People != 4 || c.Companies != 1 || c.MostForOnePerson != 2 {
		t.Errorf("books are %+v", c)
	}
}

// Faults and counts know those who are asked about without an address.
func TestWhoIsAskedAboutWithoutAnAddressIsSomebody(t *testing.T) {
	s := start(t, sandbox.Script{Faults: []sandbox.Fault{
		{Provider: sandbox.Hunter, Match: "name:ann lee*", Calls: 1, Status: 500}, {Provider: sandbox.Clearbit, Match: "domain:acme*", Status: 404},
	}})
	find := "/hunter/v2/email-finder?domain=acme.example&full_name="
	for i, want := range []int{500, 200} {
		if status, _, _ := fetch(t, s, find+"Ann+Lee"); status != want {
			t.Errorf("call %d got %d, want %d", i+1, status, want)
		}
	}
	if status, _, _ := fetch(t, s, "/clearbit/v2/companies/find?domain=acme.example"); status != 404 {
		t.Errorf("the company got %d", status)
	}
	if n, c := s.CallsFor(sandbox.Hunter, "name:ann lee@acme.example"), s.CallsFor(sandbox.Clearbit, "domain:acme.example"); n != 2 || c != 1 {
		t.Errorf("%d calls about the person, %d about the company", n, c)
	}
}
