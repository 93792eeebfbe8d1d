package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"backstop/lead"
)

// acme is an API that nobody has heard of: a form is posted, the answer is a list,
// and a person that it does not know is a 200, too.
const acme = `
name: acme
docs: https://acme.example/docs
base_url: %s
key_env: ACME_KEY
limits: [{rate: 100, per: 1s}]
needs: [[email]]
request:
  method: POST
  path: /lookup
  auth: {header: X-Acme-Key}
  form: {mail: "{email}"}
answers:
  - {status: 200, when: {"hits[0]": filled}, class: ok}
  - {status: 200, when: {hits: empty}, class: no_data}
  - {status: 402, class: quota_exhausted}
fields:
  person.name: "hits[0].who"
  person.title: "hits[0].job"
  company.name: "hits[0].firm"
identity: {email: "hits[0].mail"}
`

func TestAProviderThatAFileDescribesIsAskedLikeTheOthers(t *testing.T) {
	var calls, badKeys atomic.Int32
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.Header.Get("X-Acme-Key") != "acme-secret" || r.Method != http.MethodPost || r.URL.Path != "/lookup" {
			badKeys.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		mail := r.PostFormValue("mail")
		if strings.HasPrefix(mail, "nobody") {
			io.WriteString(w, `{"hits":[]}`)
			return
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"hits": []any{map[string]any{
			"mail": mail, "who": "Ann Lee", "job": "Head of Sales", "firm": "Acme",
		}}}); err != nil {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(api.Close)
	f := newFleet(t, "sqlite", "known: {clearbit: 0}", "ACME_KEY=acme-secret", "BACKSTOP_CHAIN=clearbit,acme")
	f.write("acme.yaml", fmt.Sprintf(acme, api.URL))
	config := f.write("backstop.yaml", "providers: {acme: {description: acme.yaml, credits: 0.1}}\n")
	f.env = append(f.env, "BACKSTOP_CONFIG="+config)
	f.workers(1)
	f.run(0, enqueuePackage, "file", f.write("leads.csv", "Record ID,Email\n1,ann.lee@firm.example\n2,nobody@firm.example\n"))
	f.settled(time.Minute)
	got := f.outcomes()
	if o := got["1"]; o.Status != lead.StatusEnriched || o.Profile[lead.PersonTitle] != "Head of Sales" || o.Provenance[lead.PersonTitle].Provider != "acme" || o.Credits["acme"] != 0.1 {
		t.Errorf("the known one: %+v", o)
	}
	if o := got["2"]; o.Status != lead.StatusPartial || o.Credits["acme"] != 0 {
		t.Errorf("the unknown one: %+v", o)
	}
	if calls.Load() != 2 || badKeys.Load() != 0 {
		t.Errorf("the API got %d calls, %d of them not as described", calls.Load(), badKeys.Load())
	}
	if shown := f.run(0, workerPackage, "config", "check"); strings.Contains(shown, "acme-secret") || !strings.Contains(shown, "acme.yaml") {
		t.Errorf("the configuration shows %s", shown)
	}
}

func TestAWrongDescriptionIsRefusedAtStart(t *testing.T) {
	f := newFleet(t, "sqlite", "{}", "ACME_KEY=acme-secret", "BACKSTOP_CHAIN=acme")
	text := strings.Replace(fmt.Sprintf(acme, "https://api.acme.example"), "class: no_data", "class: nodata", 1)
	f.write("acme.yaml", strings.Replace(text, "person.title", "person.titel", 1))
	f.env = append(f.env, "BACKSTOP_CONFIG="+f.write("backstop.yaml", "providers:\n  acme:\n    description: acme.yaml\n"))
	for _, args := range [][]string{{"run"}, {"config", "check"}} {
		p := f.start(workerPackage, args...)
		if code := p.Wait(time.Minute); code != 2 {
			t.Errorf("%v ends with %d", args, code)
		}
		for _, part := range []string{"acme.yaml:15", `"nodata"`, "no_data", "acme.yaml:19", "fields.person.titel", "person.title"} {
			if !strings.Contains(p.Stderr(), part) {
				t.Errorf("%v: the message lacks %q: %s", args, part, p.Stderr())
			}
		}
	}
}
