package httpjson

import (
	"net/http"
	"time"

	"backstop/lead"
	"backstop/providers"
)

// Undocumented is how a JSON document without the keys of an answer is described.
const Undocumented = "not in the form that the API documents"

// A StatusRow is what a status means by itself, whatever the body is.
type StatusRow struct {
	Class  lead.Class
	Detail string
}

// Classify turns a Reply into an Answer by the provider's own table of statuses.
// Those that stand in no table of its own mean the same at every provider: 5xx
// is the server's trouble, another 4xx is a request that we got wrong, another
// 2xx has no data in it. A redirect for good means that base_url is wrong, any
// other is as good as an error page, which is what it usually leads to.
func (r Reply) Classify(table map[int]StatusRow, now time.Time) providers.Answer {
	row, ok := table[r.Status]
	switch {
	case ok:
	case r.Status == http.StatusProxyAuthRequired: // no API says that
		row = StatusRow{lead.ClassTransient, "the proxy wants a name and a password"}
	case r.Status == 301 || r.Status == 308:
		row = StatusRow{lead.ClassOurBug, "moved for good: correct base_url"}
	case r.Status < 200:
		row = StatusRow{lead.ClassTransient, "an interim answer only"}
	case r.Status < 300:
		row = StatusRow{lead.ClassTransient, "a 2xx without data"}
	case r.Status < 400:
		row = StatusRow{lead.ClassTransient, "a redirect, which is not followed"}
	case r.Status < 500:
		row = StatusRow{lead.ClassOurBug, "a status that this API does not use"}
	case r.Status < 600:
		row = StatusRow{lead.ClassTransient, "server error"}
	default:
		row = StatusRow{lead.ClassTransient, "a status that does not exist"}
	}
	if _, bad := r.JSON(); bad != "" && bad != EmptyBody {
		row.Detail += ", " + bad
	}
	return r.Answer(row.Class, row.Detail, now)
}

// Answer is an answer with what the header adds to its class.
func (r Reply) Answer(class lead.Class, detail string, now time.Time) providers.Answer {
	a := providers.Answer{Class: class, Status: r.Status, Detail: detail}
	switch class {
	case lead.ClassRateLimited:
		a.Wait = wait(r.Header, now, MaxWait)
	case lead.ClassPending, lead.ClassTransient: // here a full rate window is not what there is to wait for
		a.Wait = retryAfter(r.Header, now, MaxWait)
	case lead.ClassQuotaExhausted:
		a.Until = until(r.Header, now)
	}
	return a
}
