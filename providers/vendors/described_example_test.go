package vendors_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/described"
	"backstop/providers/httpjson"
)

// describingPage is docs/describing-a-provider.md, and the description in it, of an
// API that exists only here.
func describingPage(t *testing.T) (page, example string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/describing-a-provider.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "<!-- example -->\n```yaml\n")
	example, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the page has no example")
	}
	return string(text), example
}

func exampleOnThePage(t *testing.T) *described.Description {
	t.Helper()
	_, text := describingPage(t)
	d, err := described.ParseDescription("peoplebook.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What the page quotes is what is told of the example with that mistake.
func TestTheMistakeOnThePageIsToldLikeThat(t *testing.T) {
	page, text := describingPage(t)
	_, quoted, _ := strings.Cut(page, "\n    peoplebook.yaml:")
	quoted, _, whole := strings.Cut(quoted, "…")
	_, err := described.ParseDescription("peoplebook.yaml", []byte(strings.Replace(text, "class: pending", "class: waiting", 1)))
	if err == nil || !whole || !strings.HasPrefix(err.Error(), "peoplebook.yaml:"+quoted) {
		t.Errorf("the page has %q, the error is %v", quoted, err)
	}
}

// A letter is a request as the invented API got it.
type letter struct {
	path   string
	header http.Header
	form   url.Values
}

// peoplebook is the example, asked over HTTP; every request is answered with the
// body and put into the box.
func peoplebook(t *testing.T, status int, body string, box chan<- letter) providers.Provider {
	t.Helper()
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		form, bad := url.ParseQuery(string(raw))
		if err != nil || bad != nil || r.Method != http.MethodPost {
			t.Errorf("%s with the body %q: %v, %v", r.Method, raw, err, bad)
		}
		if box != nil {
			box <- letter{r.URL.String(), r.Header, form}
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
	p, err := exampleOnThePage(t).New("peoplebook", httpjson.Options{BaseURL: base, APIKey: secretKey, Want: want, HTTP: client(t)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const peoplebookPerson = `{"likelihood":90,"result":{"name":"Maria Garcia","city":"Porto","country":"Portugal","checked":"2025-03-01 10:00:00",
	"emails":[{"address":"Maria.Garcia@Acme-Robotics.example","state":"risky"}],"phones":[{"type":"home","number":"+1 555-555-0100"}],
	"jobs":[{"employer":"Former","title":"Trainee","current":false},{"employer":"Acme","site":"https://www.acme.example/","title":"CTO","current":true}]}}`

func TestTheExampleOnThePageWorks(t *testing.T) {
	box := make(chan letter, 1)
	p := peoplebook(t, 200, peoplebookPerson, box)
	a := ask(t, t.Context(), p, lead.Lead{Email: secretEmail, Name: "Maria Garcia", Company: "Acme & Söhne"})
	expect := lead.Profile{
		lead.PersonName: "Maria Garcia", lead.PersonEmail: secretEmail, lead.PersonEmailStatus: "accept_all", lead.PersonTitle: "CTO",
		lead.PersonPhone: "+1 555-555-0100", lead.PersonLocation: "Porto, Portugal", lead.CompanyName: "Acme", lead.CompanyDomain: "acme.example",
	}
	if d := cmp.Diff(expect, a.Profile); d != "" || a.Class != lead.ClassOK {
		t.Errorf("answer is %s %q\n%s", a.Class, a.Detail, d)
	}
	if asOf := time.Date(2025, 3, 1, 10, 0, 0, 0, time.UTC); !a.AsOf.Equal(asOf) || a.Confidence != 0.9 || !a.Billed || a.Status != 200 {
		t.Errorf("answer is %+v", a)
	}
	got := <-box
	if want := (url.Values{"email": {secretEmail}, "details": {"all"}}); !cmp.Equal(got.form, want) || got.path != "/v3/lookup" {
		t.Errorf("asked %s with %v, want %v: nothing but the address and what is fixed", got.path, got.form, want)
	}
	user, _, _ := (&http.Request{Header: got.header}).BasicAuth()
	if user != secretKey || got.header.Get("X-Purpose") != "lead enrichment" || got.header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.Errorf("header is %v", got.header)
	}
}

func TestAskedByNameTheAnswerMustBeAboutTheOne(t *testing.T) {
	for _, c := range []struct {
		name, asked, company string
		class                lead.Class
	}{
		{"the same name and company", "Maria Garcia", "Acme Inc.", lead.ClassOK},
		{"an initial", "M. Garcia", "Acme", lead.ClassOK},
		{"another name", "Mario Rossi", "Acme", lead.ClassNoData},
		{"another company", "Maria Garcia", "Globex", lead.ClassNoData},
	} {
		t.Run(c.name, func(t *testing.T) {
			box := make(chan letter, 1)
			a := ask(t, t.Context(), peoplebook(t, 200, peoplebookPerson, box), lead.Lead{Name: c.asked, Company: c.company})
			if a.Class != c.class || c.class == lead.ClassNoData && a.Detail != "answer is about somebody else" || !a.Billed {
				t.Errorf("answer is %s %q, billed %v", a.Class, a.Detail, a.Billed)
			}
			got := <-box
			if want := (url.Values{"full_name": {c.asked}, "employer": {c.company}, "details": {"all"}}); !cmp.Equal(got.form, want) {
				t.Errorf("asked with %v, want %v", got.form, want)
			}
		})
	}
}

func TestTheExampleClassesItsAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		class  lead.Class
		detail string
		billed bool
	}{
		{"nobody", 200, `{"likelihood":0,"result":null}`, lead.ClassNoData, "nothing known", false},
		{"a guess", 200, `{"likelihood":59.9,"result":{"name":"Maria Garcia"}}`, lead.ClassNoData, "likelihood below 60", true},
		{"a guess in quotes", 200, `{"likelihood":"12","result":{"name":"Maria Garcia"}}`, lead.ClassNoData, "likelihood below 60", true},
		{"at the gate", 200, `{"likelihood":60,"result":{"name":"Maria Garcia"}}`, lead.ClassPartial, "", true},
		{"nothing but the question", 200, `{"likelihood":99,"result":{"emails":[{"address":"maria.garcia@acme-robotics.example"}]}}`, lead.ClassNoData, "without a value", true},
		{"a page", 200, `<html><title>Sorry</title>`, lead.ClassTransient, "HTML instead of JSON", false},
		{"another form", 200, `{"ok":true}`, lead.ClassTransient, "not in the form", false},
		{"being looked up", 202, ``, lead.ClassPending, "being looked up", false},
		{"a refused key", 403, ``, lead.ClassAuth, "key", false},
		{"who does not want it", 451, `<html>`, lead.ClassForbidden, "not to be processed", false},
		{"a status of nobody's", 404, `{}`, lead.ClassOurBug, "does not use", false},
		{"trouble", 500, `{}`, lead.ClassTransient, "server error", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ask(t, t.Context(), peoplebook(t, c.status, c.body, nil), lead.Lead{Email: secretEmail})
			if a.Class != c.class || !strings.Contains(a.Detail, c.detail) || a.Billed != c.billed || a.Status != c.status {
				t.Errorf("answer is %d %s %q, billed %v", a.Status, a.Class, a.Detail, a.Billed)
			}
			if pending := a.Class == lead.ClassPending; pending != (a.Wait == 5*time.Second) {
				t.Errorf("wait is %s", a.Wait)
			}
		})
	}
}

// Whoever asks the same again, on whatever machine, says so; whoever asks
// something else does not.
func TestTheIdempotencyKeyIsTheSameForTheSameQuestion(t *testing.T) {
	box := make(chan letter, 1)
	p := peoplebook(t, 500, "", box)
	keyOf := func(p providers.Provider, l lead.Lead) string {
		ask(t, t.Context(), p, l)
		return (<-box).header.Get("Idempotency-Key")
	}
	first := keyOf(p, lead.Lead{Email: secretEmail})
	again := keyOf(peoplebook(t, 500, "", box), lead.Lead{Email: secretEmail, Title: "CTO"})
	other := keyOf(p, lead.Lead{Email: "x" + secretEmail})
	if first != again || first == other || len(first) < 16 || strings.Contains(first, "maria") {
		t.Errorf("keys are %q, %q and %q", first, again, other)
	}
}
