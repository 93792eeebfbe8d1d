package vendors_test

import (
	"strings"
	"testing"
	"time"

	"backstop/lead"
	"backstop/providers/sandbox"
)

// HTML is what a proxy answers in the API's place.
func inHTML(code int) sandbox.Fault { return sandbox.Fault{Kind: sandbox.KindHTML, Status: code} }

// byProfile is a lead of whom hardly more than the profile is known.
var byProfile = lead.Lead{LinkedIn: "linkedin.com/in/mariagarcia"}

const theProfile = "by:linkedin.com/in/mariagarcia"

// slow is the right answer.
var slow = sandbox.Fault{Kind: sandbox.KindSlow, Delay: time.Millisecond}

var apolloRows = []row{
	{name: "apollo: 200 with a person is ok", fault: status(200), class: lead.ClassOK},
	{name: "apollo: 200 with a wanted field open is partial", class: lead.ClassPartial,
		fault: says(200, `{"person":{"name":"Maria Garcia","email":"maria.garcia@acme-robotics.example","organization":null}}`)},
	{name: "apollo: 200 with person null is no_data", class: lead.ClassNoData, detail: "no such person", fault: says(200, `{"person":null}`)},
	{name: "apollo: 200 with a stub is no_data", class: lead.ClassNoData, detail: "stub",
		fault: says(200, `{"person":{"name":"Maria Garcia","title":"CTO","match_confidence":"none"}}`)},
	{name: "apollo: 200 with a stub beside the person is no_data", class: lead.ClassNoData, detail: "stub",
		fault: says(200, `{"match_confidence":"none","person":{"name":"Maria Garcia"}}`)},
	{name: "apollo: 200 with an empty person is no_data", class: lead.ClassNoData, fault: says(200, `{"person":{}}`)},
	{name: "apollo: 200 about another address is no_data", class: lead.ClassNoData, detail: "somebody else",
		fault: says(200, `{"person":{"name":"Mario","title":"CTO","email":"mario@acme-robotics.example"}}`)},
	{name: "apollo: 200 with a locked address is no other person", class: lead.ClassPartial,
		fault: says(200, `{"person":{"name":"Maria Garcia","email":"email_not_unlocked@domain.com"}}`)},
	{name: "apollo: 200 with nothing but the question is no_data", class: lead.ClassNoData, detail: "without a value",
		fault: says(200, `{"person":{"email":"maria.garcia@acme-robotics.example"}}`)},
	{name: "apollo: 200 in another form is transient", class: lead.ClassTransient, detail: "not in the form", fault: says(200, `{"status":"down"}`)},
	{name: "apollo: 200 in HTML is transient", class: lead.ClassTransient, detail: "HTML", fault: inHTML(200)},
	{name: "apollo: 200 to a name and a domain is ok", fault: status(200), class: lead.ClassOK, lead: atFirm, subject: theName},
	{name: "apollo: 200 about another name is no_data", class: lead.ClassNoData, detail: "somebody else", lead: atFirm, subject: theName,
		fault: says(200, `{"person":{"name":"Mario Rossi","title":"CTO","organization":{"name":"Acme Robotics","primary_domain":"acme-robotics.example"}}}`)},
	{name: "apollo: 200 about another company is no_data", class: lead.ClassNoData, detail: "somebody else", lead: atFirm, subject: theName,
		fault: says(200, `{"person":{"name":"Maria Garcia","title":"CTO","organization":{"name":"Globex","primary_domain":"globex.example"}}}`)},
	{name: "apollo: 200 to a profile is ok", fault: status(200), class: lead.ClassOK, lead: byProfile, subject: theProfile},
	{name: "apollo: 200 about another profile is no_data", class: lead.ClassNoData, detail: "somebody else", lead: byProfile, subject: theProfile,
		fault: says(200, `{"person":{"name":"Mario Rossi","title":"CTO","linkedin_url":"http://www.linkedin.com/in/mario"}}`)},
	{name: "apollo: 400 is our_bug", class: lead.ClassOurBug, fault: status(400)},
	{name: "apollo: 401 in plain text is auth", class: lead.ClassAuth, fault: status(401)},
	{name: "apollo: 403 is auth", class: lead.ClassAuth, fault: status(403)},
	{name: "apollo: 404 is our_bug", class: lead.ClassOurBug, fault: status(404)},
	{name: "apollo: 422 is invalid_input", class: lead.ClassInvalidInput, fault: status(422)},
	{name: "apollo: 422 about credits is quota_exhausted", class: lead.ClassQuotaExhausted, fault: says(422, `{"error":"You have insufficient Credits."}`)},
	{name: "apollo: 429 is rate_limited", class: lead.ClassRateLimited, fault: status(429)},
	{name: "apollo: 429 with a wait waits", class: lead.ClassRateLimited, wait: 9 * time.Second, fault: sandbox.Fault{Status: 429, Wait: 9 * time.Second}},
	{name: "apollo: 500 is transient", class: lead.ClassTransient, fault: status(500)},
}

var fullContactRows = []row{
	{name: "fullcontact: 200 with a person is ok", fault: status(200), class: lead.ClassOK},
	{name: "fullcontact: 200 to a profile is ok", fault: status(200), class: lead.ClassOK, lead: byProfile, subject: theProfile},
	{name: "fullcontact: 200 without a value is no_data", class: lead.ClassNoData, detail: "without a value", fault: says(200, `{"fullName":null,"details":{}}`)},
	{name: "fullcontact: 200 in another form is transient", class: lead.ClassTransient, detail: "not in the form", fault: says(200, `{"message":"ok"}`)},
	{name: "fullcontact: 202 is pending", class: lead.ClassPending, fault: status(202)},
	{name: "fullcontact: 202 without a body is pending", class: lead.ClassPending, fault: says(202, "")},
	{name: "fullcontact: 202 in HTML is transient", class: lead.ClassTransient, detail: "HTML", fault: inHTML(202)},
	{name: "fullcontact: 400 is our_bug", class: lead.ClassOurBug, fault: status(400)},
	{name: "fullcontact: 401 is auth", class: lead.ClassAuth, fault: says(401, `{"message":"Unauthorized"}`)},
	{name: "fullcontact: 403 with a bad key is auth", class: lead.ClassAuth, fault: says(403, `{"message":"API Key is invalid or missing."}`)},
	{name: "fullcontact: 403 with a used-up plan is quota_exhausted", class: lead.ClassQuotaExhausted, detail: "used up", fault: says(403, `{"message":"Quota exceeded."}`)},
	{name: "fullcontact: 403 about the rate limit is rate_limited", class: lead.ClassRateLimited, fault: status(403)},
	{name: "fullcontact: 403 that names all causes is quota_exhausted", class: lead.ClassQuotaExhausted,
		fault: says(403, `{"message":"Your API key is invalid, missing, or has exceeded its quota."}`)},
	{name: "fullcontact: 403 without a word is quota_exhausted", class: lead.ClassQuotaExhausted, detail: "or the key was refused", fault: says(403, "")},
	{name: "fullcontact: 404 is no_data", class: lead.ClassNoData, fault: status(404)},
	{name: "fullcontact: 404 in HTML is transient", class: lead.ClassTransient, detail: "HTML", fault: inHTML(404)},
	{name: "fullcontact: 422 is invalid_input", class: lead.ClassInvalidInput, fault: status(422)},
	{name: "fullcontact: 429 is rate_limited", class: lead.ClassRateLimited, fault: says(429, "")},
	{name: "fullcontact: 503 waits as Retry-After says", class: lead.ClassTransient, wait: 20 * time.Second, fault: status(503)},
}

var abstractRows = []row{
	{name: "abstract: 200 with a state is partial", fault: status(200), class: lead.ClassPartial},
	{name: "abstract: 200 deliverable is valid", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "valid"},
		fault: says(200, `{"email_deliverability":{"status":"deliverable"},"email_quality":{"is_catchall":false,"is_disposable":false}}`)},
	{name: "abstract: 200 deliverable at a catch-all is accept_all", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "accept_all"},
		fault: says(200, `{"email_deliverability":{"status":"deliverable"},"email_quality":{"is_catchall":true}}`)},
	{name: "abstract: 200 undeliverable at a catch-all is invalid", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "invalid"},
		fault: says(200, `{"email_deliverability":{"status":"undeliverable"},"email_quality":{"is_catchall":true}}`)},
	{name: "abstract: 200 disposable is disposable", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "disposable"},
		fault: says(200, `{"email_deliverability":{"status":"deliverable"},"email_quality":{"is_disposable":true}}`)},
	{name: "abstract: 200 with an error is transient", class: lead.ClassTransient, detail: "an error in an answer", fault: says(200, `{"error":{"code":"x"}}`)},
	{name: "abstract: 200 about another address is no_data", class: lead.ClassNoData, detail: "somebody else",
		fault: says(200, `{"email_address":"mario@acme-robotics.example","email_deliverability":{"status":"deliverable"}}`)},
	{name: "abstract: 200 with an unknown state is no_data", class: lead.ClassNoData, detail: "without a value",
		fault: says(200, `{"email_deliverability":{"status":"perhaps"},"email_quality":{"is_disposable":false}}`)},
	{name: "abstract: 200 in another form is transient", class: lead.ClassTransient, detail: "not in the form", fault: says(200, `[]`)},
	{name: "abstract: 400 is our_bug", class: lead.ClassOurBug, fault: status(400)},
	{name: "abstract: 401 is auth", class: lead.ClassAuth, fault: status(401)},
	{name: "abstract: 422 is quota_exhausted", class: lead.ClassQuotaExhausted, fault: status(422)},
	{name: "abstract: 429 is rate_limited", class: lead.ClassRateLimited, fault: status(429)},
	{name: "abstract: 500 is transient", class: lead.ClassTransient, fault: status(500)},
}

var zeroBounceRows = []row{
	{name: "zerobounce: 200 with a state is partial", fault: status(200), class: lead.ClassPartial},
	{name: "zerobounce: 200 valid is valid", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "valid"}, fault: says(200, `{"status":"valid","sub_status":""}`)},
	{name: "zerobounce: 200 invalid is invalid", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "invalid"}, fault: says(200, `{"status":"invalid","sub_status":"mailbox_not_found"}`)},
	{name: "zerobounce: 200 catch-all is accept_all", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "accept_all"}, fault: says(200, `{"status":"catch-all","sub_status":""}`)},
	{name: "zerobounce: 200 unknown is unknown", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "unknown"}, fault: says(200, `{"status":"unknown","sub_status":"greylisted"}`)},
	{name: "zerobounce: 200 spamtrap is invalid", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "invalid"}, fault: says(200, `{"status":"spamtrap","sub_status":""}`)},
	{name: "zerobounce: 200 abuse is invalid", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "invalid"}, fault: says(200, `{"status":"abuse","sub_status":""}`)},
	{name: "zerobounce: 200 do_not_mail, toxic is invalid", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "invalid"}, fault: says(200, `{"status":"do_not_mail","sub_status":"toxic"}`)},
	{name: "zerobounce: 200 do_not_mail, disposable is disposable", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "disposable"}, fault: says(200, `{"status":"do_not_mail","sub_status":"disposable"}`)},
	{name: "zerobounce: 200 do_not_mail, role_based is valid", class: lead.ClassPartial, has: lead.Profile{lead.PersonEmailStatus: "valid"}, fault: says(200, `{"status":"do_not_mail","sub_status":"role_based"}`)},
	{name: "zerobounce: 200 with the error of a key or credits is quota_exhausted", class: lead.ClassQuotaExhausted, detail: "or the key was refused",
		fault: says(200, `{"error":"Invalid API key or your account ran out of credits"}`)},
	{name: "zerobounce: 200 with the error of a key is auth", class: lead.ClassAuth, fault: says(200, `{"error":"Invalid API Key"}`)},
	{name: "zerobounce: 200 with another error is transient", class: lead.ClassTransient, detail: "an error in an answer", fault: says(200, `{"error":"Try again"}`)},
	{name: "zerobounce: 200 with a state that is not documented is no_data", class: lead.ClassNoData, fault: says(200, `{"status":"perhaps"}`)},
	{name: "zerobounce: 200 about another address is no_data", class: lead.ClassNoData, detail: "somebody else",
		fault: says(200, `{"address":"mario@acme-robotics.example","status":"valid"}`)},
	{name: "zerobounce: 200 in another form is transient", class: lead.ClassTransient, detail: "not in the form", fault: says(200, `{}`)},
	{name: "zerobounce: 400 is our_bug", class: lead.ClassOurBug, fault: status(400)},
	{name: "zerobounce: 403 of the shield is transient", class: lead.ClassTransient, detail: "shield", fault: status(403)},
	{name: "zerobounce: 403 in JSON is transient too", class: lead.ClassTransient, detail: "shield", fault: says(403, `{"error":"Forbidden"}`)},
	{name: "zerobounce: 429 is rate_limited", class: lead.ClassRateLimited, fault: status(429)},
	{name: "zerobounce: 500 is transient", class: lead.ClassTransient, fault: status(500)},
}

// dropcontactRows are answers to the request itself.
var dropcontactRows = []row{
	{name: "dropcontact: 200 with a ticket is pending", class: lead.ClassPending, wait: 10 * time.Second, fault: slow},
	{name: "dropcontact: 200 to a name and a company is pending", class: lead.ClassPending, wait: 10 * time.Second, lead: atNamed, subject: theNamed, fault: slow},
	{name: "dropcontact: 200 with an error is transient", class: lead.ClassTransient, detail: "an error in an answer",
		fault: says(200, `{"error":true,"success":false,"reason":"An error occurred."}`)},
	{name: "dropcontact: 200 without credits is quota_exhausted", class: lead.ClassQuotaExhausted,
		fault: says(200, `{"error":true,"success":false,"reason":"Not enough credits"}`)},
	{name: "dropcontact: 200 with a refused key is auth", class: lead.ClassAuth, fault: says(200, `{"error":true,"reason":"Invalid access token"}`)},
	{name: "dropcontact: 200 without a ticket is transient", class: lead.ClassTransient, detail: "without a ticket",
		fault: says(200, `{"request_id":{"x":1},"error":false,"success":true}`)},
	{name: "dropcontact: 200 in another form is transient", class: lead.ClassTransient, detail: "not in the form", fault: says(200, `{}`)},
	{name: "dropcontact: 400 is our_bug", class: lead.ClassOurBug, fault: status(400)},
	{name: "dropcontact: 401 is auth", class: lead.ClassAuth, fault: status(401)},
	{name: "dropcontact: 403 is quota_exhausted", class: lead.ClassQuotaExhausted, fault: status(403)},
	{name: "dropcontact: 422 is our_bug", class: lead.ClassOurBug, fault: status(422)},
	{name: "dropcontact: 429 is rate_limited", class: lead.ClassRateLimited, fault: status(429)},
	{name: "dropcontact: 500 is transient", class: lead.ClassTransient, fault: status(500)},
}

// resultRows are answers to asking for the result.
var resultRows = []row{
	{name: "dropcontact: a result that is not ready is pending", class: lead.ClassPending, wait: 30 * time.Second,
		fault: says(200, `{"error":false,"success":false,"reason":"Request not ready yet, try again in 30 seconds"}`)},
	{name: "dropcontact: a result with a person is ok", class: lead.ClassOK,
		fault: says(200, `{"success":true,"error":false,"data":[{"full_name":"Maria Garcia","job":"CTO","company":"Acme","website":"www.acme.example","email":[{"email":"maria.garcia@acme-robotics.example","qualification":"nominative@pro"}]}]}`)},
	{name: "dropcontact: a result with the address among others is about the person", class: lead.ClassPartial,
		fault: says(200, `{"success":true,"data":[{"job":"CTO","email":[{"email":"m@new.example"},{"email":"maria.garcia@acme-robotics.example"}]}]}`)},
	{name: "dropcontact: a result about another address is no_data", class: lead.ClassNoData, detail: "somebody else",
		fault: says(200, `{"success":true,"data":[{"job":"CTO","email":[{"email":"mario@acme-robotics.example"}]}]}`)},
	{name: "dropcontact: a result without a person is no_data", class: lead.ClassNoData, fault: says(200, `{"success":true,"data":[]}`)},
	{name: "dropcontact: a result without success is transient", class: lead.ClassTransient, detail: "no success", fault: says(200, `{"success":false,"reason":"?"}`)},
	{name: "dropcontact: a result with status 500 is transient", class: lead.ClassTransient, fault: status(500)},
}

func init() {
	pageRows = append(pageRows, apolloRows, fullContactRows, abstractRows, dropcontactRows, resultRows, zeroBounceRows)
}

func TestDescribedAnswers(t *testing.T) {
	answers(t, sandbox.Apollo, apolloRows)
	answers(t, sandbox.FullContact, fullContactRows)
	answers(t, sandbox.Abstract, abstractRows)
	answers(t, sandbox.ZeroBounce, zeroBounceRows)
	answers(t, sandbox.Dropcontact, dropcontactRows)
}

// What holds for every provider holds for a described one.
func TestDescribedAnswersThatAreNone(t *testing.T) {
	answers(t, sandbox.FullContact, otherRows)
}

// The request gives out a ticket; the result is asked for with it.
func TestDropcontactGivesOutATicket(t *testing.T) {
	for _, r := range resultRows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.fault.Provider, r.fault.Endpoint = sandbox.Dropcontact, "enrich/all/result"
			s := start(t, sandbox.Script{Faults: []sandbox.Fault{r.fault}})
			calls, why := provider(t, "dropcontact", s.URL(sandbox.Dropcontact)).Plan(lead.Lead{Email: secretEmail}, want)
			if why != "" {
				t.Fatal(why)
			}
			a := calls[0].Do(t.Context())
			checkPrivacy(t, a)
			if a.Class != lead.ClassPending || a.Ticket == "" || a.Wait != 10*time.Second {
				t.Fatalf("the first answer is %+v", a)
			}
			ticket := a.Ticket
			a = calls[0].Poll(t.Context(), ticket)
			checkPrivacy(t, a)
			if a.Class != r.class || !strings.Contains(a.Detail, r.detail) || a.Wait != r.wait {
				t.Errorf("the result is %s %q, waiting %s, want %s %q", a.Class, a.Detail, a.Wait, r.class, r.detail)
			}
			if a.Class == lead.ClassPending && a.Ticket != ticket {
				t.Errorf("the ticket is %q, was %q", a.Ticket, ticket)
			}
			if a.Class.HasData() != (len(a.Profile) > 0) {
				t.Errorf("class %s with the profile %v", a.Class, a.Profile)
			}
		})
	}
}
