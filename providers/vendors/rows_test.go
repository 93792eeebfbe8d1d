package vendors_test

import (
	"time"

	"backstop/lead"
	"backstop/providers/sandbox"
)

// otherRows are statuses that stand in neither table.
var otherRows = []row{
	{name: "204 is transient", class: lead.ClassTransient, detail: "2xx without data", fault: status(204)},
	{name: "206 is transient", class: lead.ClassTransient, detail: "2xx without data", fault: status(206)},
	{name: "301 is our_bug", class: lead.ClassOurBug, detail: "base_url", fault: status(301)},
	{name: "302 is transient", class: lead.ClassTransient, detail: "not followed", fault: status(302)},
	{name: "304 is transient", class: lead.ClassTransient, fault: status(304)},
	{name: "308 is our_bug", class: lead.ClassOurBug, detail: "base_url", fault: status(308)},
	{name: "407 is transient", class: lead.ClassTransient, detail: "the proxy", fault: status(407)},
	{name: "418 is our_bug", class: lead.ClassOurBug, fault: status(418)},
	{name: "502 in HTML is transient", class: lead.ClassTransient, detail: "HTML instead of JSON", fault: sandbox.Fault{Kind: sandbox.KindHTML}},
	{name: "503 with a wait waits", class: lead.ClassTransient, wait: 4 * time.Second, fault: sandbox.Fault{Status: 503, Wait: 4 * time.Second}},
	{name: "a truncated answer is transient", class: lead.ClassTransient, detail: "truncated", fault: sandbox.Fault{Kind: sandbox.KindTruncate}},
	{name: "HTML behind the JSON is transient", class: lead.ClassTransient, detail: "more after the JSON", fault: sandbox.Fault{Kind: sandbox.KindAppend}},
	{name: "a hang-up is transient", class: lead.ClassTransient, detail: "hung up", fault: sandbox.Fault{Kind: sandbox.KindClose}},
	{name: "a reset is transient", class: lead.ClassTransient, detail: "connection reset", fault: sandbox.Fault{Kind: sandbox.KindReset}},
	{name: "a dropped call is transient", class: lead.ClassTransient, detail: "time-out waiting", fault: sandbox.Fault{Kind: sandbox.KindDrop}},
	{name: "a call that hangs is transient", class: lead.ClassTransient, detail: "time-out waiting", fault: sandbox.Fault{Kind: sandbox.KindHang}},
	{name: "a body that stalls is transient", class: lead.ClassTransient, detail: "time-out reading", fault: sandbox.Fault{Kind: sandbox.KindStall}},
	{name: "a slow answer is ok", class: lead.ClassOK, fault: sandbox.Fault{Kind: sandbox.KindSlow, Delay: 20 * time.Millisecond}},
}

// The leads of whom only a part is missing.
var (
	company = []lead.Field{lead.CompanyName}
	title   = []lead.Field{lead.PersonTitle}
	address = []lead.Field{lead.PersonEmail}
	state   = []lead.Field{lead.PersonEmailStatus}

	atFirm    = lead.Lead{Name: "Maria Garcia", Title: "CTO", Domain: "acme-robotics.example"}
	atNamed   = lead.Lead{Name: "Maria Garcia", Title: "CTO", Company: "Acme Robotics"}
	wholeLead = lead.Lead{Email: secretEmail, Name: "Maria Garcia", Title: "CTO", Company: "Acme", Domain: "acme.example"}
)

const (
	theFirm  = "domain:acme-robotics.example"
	theName  = "name:maria garcia@acme-robotics.example"
	theNamed = "name:maria garcia@acmerobotics"
)

// partRows are those of people/find and companies/find, which Clearbit and Hunter
// have in common. wrap puts an object into the vendor's form.
func partRows(wrap func(string) string, unknown string) []row {
	person := func(name string, class lead.Class, detail string, f sandbox.Fault) row {
		return row{name: "people/find: " + name, class: class, detail: detail, fault: f, missing: title}
	}
	firm := func(name string, class lead.Class, detail string, f sandbox.Fault) row {
		return row{name: "companies/find: " + name, class: class, detail: detail, fault: f, lead: atFirm, missing: company, subject: theFirm}
	}
	return []row{
		person("200 with the person is ok", lead.ClassOK, "", status(200)),
		person("200 with a wanted field open is partial", lead.ClassPartial, "", says(200, wrap(`{"id":"p","name":{"fullName":"Maria Garcia"}}`))),
		person("200 with null is no_data", lead.ClassNoData, "without a value", says(200, wrap(`null`))),
		person("200 with nothing but the address is no_data", lead.ClassNoData, "without a value", says(200, wrap(`{"id":"p","email":"`+secretEmail+`","name":null}`))),
		person("200 about another address is no_data", lead.ClassNoData, "somebody else", says(200, wrap(`{"email":"mario@acme-robotics.example","name":{"fullName":"Mario"}}`))),
		person("200 in another form is transient", lead.ClassTransient, "not in the form", says(200, wrap(`{"ok":true}`))),
		person("404 is no_data", lead.ClassNoData, "", says(404, unknown)),
		firm("200 with the company is ok", lead.ClassOK, "", status(200)),
		firm("200 about another domain is no_data", lead.ClassNoData, "another company", says(200, wrap(`{"name":"Other","domain":"other.example"}`))),
		firm("200 with nothing but the domain is no_data", lead.ClassNoData, "without a value", says(200, wrap(`{"id":"c","name":null,"domain":"acme-robotics.example"}`))),
		firm("200 in another form is transient", lead.ClassTransient, "not in the form", says(200, wrap(`[1]`))),
		firm("404 is no_data", lead.ClassNoData, "", says(404, unknown)),
	}
}

var clearbitPartRows = append(partRows(func(s string) string { return s }, `{"error":{"type":"unknown_record"}}`),
	row{name: "companies/find: 202 queued is pending", class: lead.ClassPending, lead: atFirm, missing: company, subject: theFirm,
		fault: says(202, `{"error":{"type":"queued"}}`)},
	row{name: "companies/find: 404 unknown_route is our_bug", class: lead.ClassOurBug, lead: atFirm, missing: company, subject: theFirm,
		fault: says(404, `{"error":{"type":"unknown_route"}}`)},
)

var hunterPartRows = partRows(func(s string) string { return `{"data":` + s + `,"meta":{}}` }, `{"errors":[{"id":"not_found","code":404}]}`)

// found is an answer of the finder.
func found(text string) sandbox.Fault { return says(200, `{"data":`+text+`}`) }

var finderRows = []row{
	{name: "email-finder: 200 with an address is ok", class: lead.ClassOK, lead: atNamed, missing: address, subject: theNamed, fault: status(200),
		has: lead.Profile{lead.PersonEmail: "maria.garcia@acme-robotics.example"}},
	{name: "email-finder: 200 with a state has it", class: lead.ClassOK, lead: atNamed, missing: address, subject: theNamed,
		fault: found(`{"email":"maria.garcia@acme.example","first_name":"Maria","last_name":"Garcia","score":97,"company":"Acme Robotics Inc.","domain":"acme.example","verification":{"status":"accept_all"}}`),
		has:   lead.Profile{lead.PersonEmailStatus: "accept_all", lead.CompanyDomain: "acme.example"}},
	{name: "email-finder: 200 with the address null is no_data", class: lead.ClassNoData, detail: "no address was found", lead: atFirm, missing: address, subject: theName,
		fault: found(`{"email":null,"first_name":"Maria","last_name":"Garcia"}`)},
	{name: "email-finder: 200 at another domain is no_data", class: lead.ClassNoData, detail: "somebody else", lead: atFirm, missing: address, subject: theName,
		fault: found(`{"email":"maria.garcia@other.example","first_name":"Maria","last_name":"Garcia","domain":"other.example"}`)},
	{name: "email-finder: 200 with another name is no_data", class: lead.ClassNoData, detail: "somebody else", lead: atFirm, missing: address, subject: theName,
		fault: found(`{"email":"mario.rossi@acme-robotics.example","first_name":"Mario","last_name":"Rossi"}`)},
	{name: "email-finder: 200 of another company is no_data", class: lead.ClassNoData, detail: "somebody else", lead: atNamed, missing: address, subject: theNamed,
		fault: found(`{"email":"maria.garcia@other.example","first_name":"Maria","last_name":"Garcia","company":"Other"}`)},
	{name: "email-finder: 200 in another form is transient", class: lead.ClassTransient, detail: "not in the form", lead: atFirm, missing: address, subject: theName,
		fault: found(`{"score":3}`)},
	{name: "email-finder: 404 is no_data", class: lead.ClassNoData, lead: atFirm, missing: address, subject: theName, fault: status(404)},
	{name: "email-finder: 451 is forbidden", class: lead.ClassForbidden, lead: atFirm, missing: address, subject: theName, fault: status(451)},
}

// checked is an answer of the verifier.
func checked(name string, class lead.Class, f sandbox.Fault, state string) row {
	r := row{name: "email-verifier: " + name, class: class, fault: f, lead: wholeLead, missing: []lead.Field{lead.PersonEmailStatus}}
	if state != "" {
		r.has = lead.Profile{lead.PersonEmailStatus: state}
	}
	return r
}

var verifierRows = []row{
	checked("200 valid is ok", lead.ClassOK, found(`{"status":"valid","score":100}`), "valid"),
	checked("200 invalid is ok", lead.ClassOK, found(`{"status":"invalid","score":0}`), "invalid"),
	checked("200 accept_all is ok", lead.ClassOK, found(`{"status":"accept_all","score":50}`), "accept_all"),
	checked("200 webmail is ok", lead.ClassOK, found(`{"status":"webmail"}`), "webmail"),
	checked("200 disposable is ok", lead.ClassOK, found(`{"status":"disposable"}`), "disposable"),
	checked("200 unknown is ok", lead.ClassOK, found(`{"status":"unknown"}`), "unknown"),
	checked("200 with another state is no_data", lead.ClassNoData, found(`{"status":"perhaps"}`), ""),
	checked("200 about another address is no_data", lead.ClassNoData, found(`{"email":"mario@acme.example","status":"valid"}`), ""),
	checked("200 without a state is transient", lead.ClassTransient, found(`{"score":3}`), ""),
	checked("202 while it runs is pending", lead.ClassPending, status(202), ""),
	checked("222 is transient", lead.ClassTransient, status(222), ""),
}

// matched is an answer of People Data Labs.
func matched(likelihood, data string) sandbox.Fault {
	return says(200, `{"status":200,"likelihood":`+likelihood+`,"data":`+data+`}`)
}

// aMatch is a record with an address.
func aMatch(email string) string {
	return `{"id":"q","full_name":"maria garcia","work_email":"` + email + `","job_title":"vp of sales","job_company_name":"acme robotics",` +
		`"job_company_website":"acme-robotics.example"}`
}

var pdlRows = []row{
	{name: "200 is ok", class: lead.ClassOK, fault: matched("9", aMatch(secretEmail)),
		has: lead.Profile{lead.PersonName: "Maria Garcia", lead.PersonTitle: "VP of Sales", lead.CompanyName: "Acme Robotics", lead.PersonEmail: secretEmail}},
	{name: "200 with a wanted field open is partial", class: lead.ClassPartial, fault: matched("9", `{"full_name":"maria garcia","emails":[{"address":"`+secretEmail+`"}]}`)},
	{name: "200 with a likelihood below the least is no_data", class: lead.ClassNoData, detail: "likelihood 2 is below 6", fault: matched("2", aMatch(secretEmail))},
	{name: "200 with the likelihood as text is read", class: lead.ClassNoData, detail: "likelihood 5 is below 6", fault: matched(`"5"`, aMatch(secretEmail))},
	{name: "200 without a likelihood needs the address", class: lead.ClassOK, fault: says(200, `{"data":`+aMatch(secretEmail)+`}`)},
	{name: "200 with neither likelihood nor address is no_data", class: lead.ClassNoData, detail: "somebody else",
		fault: matched("null", `{"full_name":"maria garcia","job_title":"cto","work_email":true}`)},
	{name: "200 that hides the addresses is ok", class: lead.ClassOK,
		fault: matched("8", `{"full_name":"maria garcia","work_email":true,"emails":true,"job_title":"cto","job_company_name":"acme","job_company_website":"acme.example"}`)},
	{name: "200 with other addresses and another company is no_data", class: lead.ClassNoData, detail: "somebody else",
		fault: matched("9", `{"full_name":"mario rossi","work_email":"mario@other.example","job_company_website":"other.example"}`)},
	{name: "200 with other addresses at the same company is no_data", class: lead.ClassNoData, detail: "somebody else",
		fault: matched("9", aMatch("m.garcia@acme-robotics.example"))},
	{name: "200 with neither, at the company of the address, is ok", class: lead.ClassOK,
		fault: matched("null", `{"full_name":"maria garcia","job_title":"cto","work_email":true,"job_company_name":"acme","job_company_website":"acme-robotics.example"}`)},
	{name: "200 with data null is no_data", class: lead.ClassNoData, detail: "without a value", fault: matched("9", "null")},
	{name: "200 with nothing but the address is no_data", class: lead.ClassNoData, detail: "without a value", fault: matched("9", `{"id":"q","work_email":"`+secretEmail+`"}`)},
	{name: "200 with 404 inside is no_data", class: lead.ClassNoData, detail: "status 404 inside", fault: says(200, `{"status":404,"error":{"type":"not_found"}}`)},
	{name: "200 with 402 inside is quota_exhausted", class: lead.ClassQuotaExhausted, fault: says(200, `{"status":402,"error":{"type":"payment_required"}}`)},
	{name: "200 with an error is transient", class: lead.ClassTransient, detail: "an error in an answer", fault: says(200, `{"error":{"type":"api_error"},"data":{}}`)},
	{name: "200 in another form is transient", class: lead.ClassTransient, detail: "not in the form", fault: says(200, `{"ok":true}`)},
	{name: "200 by name and company is ok", class: lead.ClassOK, lead: atFirm, subject: theName, fault: matched("8", aMatch("m.garcia@acme-robotics.example")),
		has: lead.Profile{lead.PersonEmail: "m.garcia@acme-robotics.example"}},
	{name: "200 by name about another name is no_data", class: lead.ClassNoData, detail: "somebody else", lead: atFirm, subject: theName,
		fault: matched("8", `{"full_name":"mario rossi","job_title":"cto","job_company_website":"acme-robotics.example"}`)},
	{name: "200 by name about another company is no_data", class: lead.ClassNoData, detail: "somebody else", lead: atFirm, subject: theName,
		fault: matched("8", `{"full_name":"maria garcia","job_title":"cto","job_company_website":"other.example"}`)},
	{name: "200 by name with nothing beyond it is no_data", class: lead.ClassNoData, detail: "without a value", lead: atFirm, subject: theName,
		fault: matched("8", `{"full_name":"maria garcia","job_company_website":"acme-robotics.example"}`)},
	{name: "400 is our_bug", class: lead.ClassOurBug, fault: status(400)},
	{name: "401 is auth", class: lead.ClassAuth, fault: status(401)},
	{name: "402 is quota_exhausted", class: lead.ClassQuotaExhausted, fault: status(402)},
	{name: "404 is no_data", class: lead.ClassNoData, fault: status(404)},
	{name: "404 in HTML is transient", class: lead.ClassTransient, detail: "HTML", fault: sandbox.Fault{Kind: sandbox.KindHTML, Status: 404}},
	{name: "405 is our_bug", class: lead.ClassOurBug, fault: status(405)},
	{name: "429 is rate_limited", class: lead.ClassRateLimited, fault: status(429)},
	{name: "429 with an ISO 8601 time waits no longer than the cap", class: lead.ClassRateLimited, wait: 15 * time.Minute,
		fault: sandbox.Fault{Status: 429, Headers: map[string]string{"X-RateLimit-Reset": "2099-01-01T00:00:00Z"}}},
	{name: "500 is transient", class: lead.ClassTransient, fault: status(500)},
}
