package vendors

import (
	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
	"backstop/testkit/answertest"
	"net/http"
	"testing"
	"time"
)

func fuzzVendor(f *testing.F, read func(httpjson.Reply, profile.Question) providers.Answer) {
	for _, s := range answertest.Seeds {
		for _, status := range []int{200, 202, 404, 429, 500} {
			f.Add(status, "application/json", "5", []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, status int, kind, after string, body []byte) {
		status = 100 + (status%900+900)%900
		r := httpjson.Reply{Status: status, Header: http.Header{"Content-Type": {kind}, "Retry-After": {after}}, Body: body}
		a := read(r, profile.Question{Lead: lead.Lead{Email: "a.b@acme.example"}, Missing: []lead.Field{lead.PersonName}})
		answertest.CheckAnswer(t, a)
		if a.Status != status {
			t.Errorf("status %d of %d", a.Status, status)
		}
		if a.Class.HasData() && status != 200 && status != 201 {
			t.Errorf("data out of a %d", status)
		}
	})
}

func fuzzClearbit(f *testing.F, endpoint string) {
	c := NewClearbit(httpjson.Options{}).(*clearbit)
	fuzzVendor(f, func(r httpjson.Reply, q profile.Question) providers.Answer { return c.read(r, q, endpoint) })
}

func fuzzHunter(f *testing.F, of func(*hunter, profile.Question) hunterCall) {
	h := NewHunter(httpjson.Options{}).(*hunter)
	fuzzVendor(f, func(r httpjson.Reply, q profile.Question) providers.Answer { return h.read(r, q, of(h, q)) })
}

func FuzzClearbitCombined(f *testing.F)  { fuzzClearbit(f, combinedFind) }
func FuzzClearbitPeople(f *testing.F)    { fuzzClearbit(f, peopleFind) }
func FuzzClearbitCompanies(f *testing.F) { fuzzClearbit(f, companiesFind) }

func FuzzHunterCombined(f *testing.F) {
	fuzzHunter(f, func(h *hunter, q profile.Question) hunterCall { return h.enrichment(q, combinedFind) })
}

func FuzzHunterPeople(f *testing.F) {
	fuzzHunter(f, func(h *hunter, q profile.Question) hunterCall { return h.enrichment(q, peopleFind) })
}

func FuzzHunterCompanies(f *testing.F) {
	fuzzHunter(f, func(h *hunter, q profile.Question) hunterCall { return h.enrichment(q, companiesFind) })
}

func FuzzHunterVerifier(f *testing.F) {
	fuzzHunter(f, func(h *hunter, q profile.Question) hunterCall { return h.verifier(q) })
}

func FuzzHunterFinder(f *testing.F) {
	fuzzHunter(f, func(h *hunter, q profile.Question) hunterCall {
		return h.finder(profile.Named{Name: "A B", Domain: "acme.example"})
	})
}

func FuzzHunterAccount(f *testing.F) {
	h := NewHunter(httpjson.Options{Now: func() time.Time { return noon }}).(*hunter)
	for _, s := range append(answertest.Seeds, `{"data":{"reset_date":"2026-03-20"}}`, `{"data":{"reset_date":"9999-12-31T23:59:59Z"}}`) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		until := h.resetDate(httpjson.Reply{Status: 200, Header: http.Header{}, Body: body})
		if !until.IsZero() && (!until.After(noon) || until.After(noon.Add(httpjson.MaxQuota))) {
			t.Errorf("until %s", until)
		}
	})
}

func FuzzPDL(f *testing.F) {
	d := NewPDL(httpjson.Options{}).(*pdl)
	fuzzVendor(f, d.read)
}

// By name, what the answer says of name and company is looked at too.
func FuzzPDLByName(f *testing.F) {
	d := NewPDL(httpjson.Options{}).(*pdl)
	fuzzVendor(f, func(r httpjson.Reply, q profile.Question) providers.Answer {
		q.Lead = lead.Lead{Name: "A B", Domain: "acme.example", LinkedIn: "linkedin.com/in/ab"}
		return d.read(r, q)
	})
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
