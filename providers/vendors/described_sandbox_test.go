package vendors_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/described"
	"backstop/providers/sandbox"
)

// finish makes the only call about a lead, and asks for its result for as long as
// it is pending.
func finish(t *testing.T, p providers.Provider, l lead.Lead) providers.Answer {
	t.Helper()
	calls, why := p.Plan(l, lead.Fields)
	if len(calls) != 1 {
		t.Fatalf("%d calls planned (%s), want 1", len(calls), why)
	}
	a := calls[0].Do(t.Context())
	checkPrivacy(t, a)
	for range 3 {
		if a.Class != lead.ClassPending || a.Ticket == "" {
			break
		}
		a = calls[0].Poll(t.Context(), a.Ticket)
		checkPrivacy(t, a)
	}
	return a
}

// What the imitated APIs tell of a person comes through whole, and nothing that
// they do not know.
func TestDescribedProfilesComeThroughWhole(t *testing.T) {
	s := start(t, sandbox.Script{})
	person := []lead.Field{lead.PersonName, lead.PersonGivenName, lead.PersonFamilyName}
	tells := map[string][]lead.Field{
		sandbox.Apollo: append([]lead.Field{lead.PersonTitle, lead.PersonRole, lead.PersonSeniority, lead.PersonLinkedIn, lead.PersonLocation,
			lead.CompanyName, lead.CompanyDomain, lead.CompanyIndustry, lead.CompanyLocation, lead.CompanyPhone, lead.CompanyLinkedIn}, person...),
		sandbox.FullContact: append([]lead.Field{lead.PersonTitle, lead.PersonLinkedIn, lead.PersonLocation, lead.PersonPhone, lead.CompanyName, lead.CompanyDomain}, person...),
		sandbox.Dropcontact: append([]lead.Field{lead.PersonEmail, lead.PersonEmailStatus, lead.PersonTitle, lead.PersonRole, lead.PersonLinkedIn, lead.PersonPhone,
			lead.CompanyName, lead.CompanyDomain, lead.CompanyIndustry, lead.CompanyHeadcount, lead.CompanyLinkedIn}, person...),
		sandbox.ZeroBounce: append([]lead.Field{lead.PersonEmailStatus}, person...),
		sandbox.Abstract:   append([]lead.Field{lead.PersonEmailStatus, lead.CompanyName, lead.CompanyDomain}, person...),
	}
	for _, name := range described.Shipped() {
		p := provider(t, name, s.URL(name))
		for _, l := range sandbox.SampleLeads(60, 7) {
			if l.Email == "" || lead.IsFreeMail(l.Email[strings.Index(l.Email, "@")+1:]) {
				continue
			}
			a := finish(t, p, lead.Lead{Email: l.Email})
			all, expect := sandbox.Person(l.Email), lead.Profile{}
			for _, f := range tells[name] {
				if all[f] != "" {
					expect[f] = all[f]
				}
			}
			got := a.Profile
			if name == sandbox.Apollo { // the address of some is not unlocked, and there are numbers of employees only
				for _, f := range []lead.Field{lead.PersonEmail, lead.PersonEmailStatus, lead.CompanyHeadcount} {
					delete(got, f)
				}
			}
			if d := cmp.Diff(expect, got); d != "" || !a.Class.HasData() {
				t.Fatalf("%s: %s %q\n%s", name, a.Class, a.Detail, d)
			}
		}
	}
}

func TestDescribedProvidersSayThatTheyKnowNobody(t *testing.T) {
	script := sandbox.Script{Known: map[string]float64{}}
	for _, name := range described.Shipped() {
		script.Known[name] = 0
	}
	s := start(t, script)
	for _, name := range []string{sandbox.Apollo, sandbox.FullContact} {
		for _, l := range sandbox.SampleLeads(20, 3) {
			if l.Email == "" {
				continue
			}
			if a := finish(t, provider(t, name, s.URL(name)), lead.Lead{Email: l.Email}); a.Class != lead.ClassNoData || a.Billed {
				t.Errorf("%s: %s %q, billed %v", name, a.Class, a.Detail, a.Billed)
			}
		}
		if b := s.Books().Providers[name]; b.Billed != 0 {
			t.Errorf("%s would charge for %d people whom it does not know", name, b.Billed)
		}
	}
	a := finish(t, provider(t, "dropcontact", s.URL(sandbox.Dropcontact)), lead.Lead{Name: "Maria Garcia", Company: "Acme"})
	if a.Class != lead.ClassNoData {
		t.Errorf("dropcontact: %s %q with %v", a.Class, a.Detail, a.Profile)
	}
}

// Of some people an API gives the person only; what it says is then partial.
func TestDescribedProvidersMayKnowTheHalf(t *testing.T) {
	names := []string{sandbox.Apollo, sandbox.FullContact, sandbox.Dropcontact}
	script := sandbox.Script{Halves: map[string]float64{}}
	for _, name := range names {
		script.Halves[name] = 1
	}
	s := start(t, script)
	for _, name := range names {
		var halves int
		for _, l := range sandbox.SampleLeads(30, 9) {
			if l.Email == "" {
				continue
			}
			a := finish(t, provider(t, name, s.URL(name)), lead.Lead{Email: l.Email})
			if a.Class == lead.ClassPartial && a.Profile[lead.CompanyName] == "" && a.Profile[lead.PersonName] != "" {
				halves++
			} else if a.Class != lead.ClassOK {
				t.Errorf("%s: %s %q with %v", name, a.Class, a.Detail, a.Profile)
			}
		}
		if halves < 5 || halves > 25 {
			t.Errorf("%s gives only the person of %d people", name, halves)
		}
	}
}

func TestDescribedProvidersAreToldTheirLimitsAndKeys(t *testing.T) {
	script := sandbox.Script{Limits: map[string]sandbox.Limit{}, Keys: map[string]string{}}
	for _, name := range described.Shipped() {
		script.Limits[name] = sandbox.Limit{Rate: 1, Per: time.Hour}
		script.Keys[name] = "another key"
	}
	s := start(t, script)
	refused := map[string]lead.Class{sandbox.ZeroBounce: lead.ClassQuotaExhausted} // the same words for both
	for _, name := range described.Shipped() {
		p := provider(t, name, s.URL(name))
		first, second := finish(t, p, lead.Lead{Email: secretEmail}), finish(t, p, lead.Lead{Email: secretEmail})
		want := lead.ClassAuth
		if c, ok := refused[name]; ok {
			want = c
		}
		if first.Class != want || second.Class != lead.ClassRateLimited {
			t.Errorf("%s: %s %q with a wrong key, then %s %q", name, first.Class, first.Detail, second.Class, second.Detail)
		}
		if b := s.Books().Providers[name]; b.BadKey != 1 || b.OverLimit != 1 || b.Calls != 2 {
			t.Errorf("%s: books are %+v", name, b)
		}
	}
}

// The key is where this vendor wants it, and nowhere else.
func TestKeysOfDescribedProvidersGoWhereTheVendorWantsThem(t *testing.T) {
	for name, where := range map[string]string{
		"apollo": "X-Api-Key", "fullcontact": "Authorization", "dropcontact": "X-Access-Token", "abstract": "?api_key", "zerobounce": "?api_key",
	} {
		t.Run(name, func(t *testing.T) {
			got := make(chan *http.Request, 1)
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || strings.Contains(string(body), secretKey) {
					t.Errorf("the body is %s, %v", body, err)
				}
				got <- r
				w.WriteHeader(500)
			})
			ask(t, t.Context(), provider(t, name, url+"/prefix"), lead.Lead{Email: secretEmail}, lead.PersonName)
			r := <-got
			parameter, inQuery := strings.CutPrefix(where, "?")
			switch {
			case inQuery && r.URL.Query().Get(parameter) != secretKey:
				t.Errorf("the query is %s", r.URL.RawQuery)
			case !inQuery && (!strings.HasSuffix(r.Header.Get(where), secretKey) || strings.Contains(r.URL.String(), secretKey)):
				t.Errorf("%s is %q at %s", where, r.Header.Get(where), r.URL)
			}
			if !strings.HasPrefix(r.URL.Path, "/prefix/v") && !strings.HasPrefix(r.URL.Path, "/prefix/api/v") {
				t.Errorf("asked %s", r.URL)
			}
		})
	}
}

// A described provider takes the same way as the others: what a hostile server
// sends is bounded, redirects are not followed, and one call is one request.
func TestHostileServersOfADescribedProvider(t *testing.T) {
	for _, c := range []struct {
		name   string
		talk   func(*net.TCPConn, *http.Request, <-chan struct{})
		detail string
	}{
		{"a body without an end", drips(okHead+"\r\n", strings.Repeat(" ", 1<<16), 0), "body over"},
		{"a gzip bomb", sends(okHead + "Content-Encoding: gzip\r\n\r\n" + gzipped(io.LimitReader(zeros{}, 8<<20))), "body over"},
		{"a body that breaks off", sends(okHead + "Content-Length: 100\r\n\r\n{\"status\":\"valid\""), "truncated body"},
		{"HTML that says it is JSON", whole("<!doctype html><p>Sorry"), "HTML instead of JSON"},
		{"HTML behind the JSON", whole(`{"status":"valid"}<html>`), "more after the JSON"},
		{"a key twice", whole(`{"status":"valid","status":"invalid"}`), "a key stands twice"},
		{"a nest of arrays", whole(strings.Repeat("[", 100_000)), "nested too deeply"},
		{"a crowd of values", whole("[" + strings.Repeat("0,", 500_000) + "0]"), "too many values"},
		{"an empty body", whole(""), "empty body"},
		{"a hang-up", sends(""), "hung up"},
		{"a redirect", sends("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"), "not followed"},
		{"a wrong status line", sends("HTTP/1.1 2"), "not an HTTP answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ask(t, t.Context(), provider(t, "zerobounce", raw(t, c.talk)), lead.Lead{Email: secretEmail}, lead.PersonEmailStatus)
			if a.Class != lead.ClassTransient || !strings.Contains(a.Detail, c.detail) {
				t.Errorf("answer is %s %q, want transient %q", a.Class, a.Detail, c.detail)
			}
		})
	}
}
