package providers

import (
	"net/http"
	"time"

	"backstop/lead"
)

// undocumented is how a JSON document without the keys of an answer is described.
const undocumented = "not in the form that the API documents"

// A statusRow is what a status means by itself, whatever the body is.
type statusRow struct {
	class  lead.Class
	detail string
}

// classify turns a reply into an Answer by the provider's own table of statuses.
// Those that stand in no table of its own mean the same at every provider: 5xx
// is the server's trouble, another 4xx is a request that we got wrong, another
// 2xx has no data in it. A redirect for good means that base_url is wrong, any
// other is as good as an error page, which is what it usually leads to.
func (r reply) classify(table map[int]statusRow, now time.Time) Answer {
	row, ok := table[r.status]
	switch {
	case ok:
	case r.status == http.StatusProxyAuthRequired: // no API says that
		row = statusRow{lead.ClassTransient, "the proxy wants a name and a password"}
	case r.status == 301 || r.status == 308:
		row = statusRow{lead.ClassOurBug, "moved for good: correct base_url"}
	case r.status < 200:
		row = statusRow{lead.ClassTransient, "an interim answer only"}
	case r.status < 300:
		row = statusRow{lead.ClassTransient, "a 2xx without data"}
	case r.status < 400:
		row = statusRow{lead.ClassTransient, "a redirect, which is not followed"}
	case r.status < 500:
		row = statusRow{lead.ClassOurBug, "a status that this API does not use"}
	case r.status < 600:
		row = statusRow{lead.ClassTransient, "server error"}
	default:
		row = statusRow{lead.ClassTransient, "a status that does not exist"}
	}
	if _, bad := r.json(); bad != "" && bad != emptyBody {
		row.detail += ", " + bad
	}
	return r.answer(row.class, row.detail, now)
}

// answer is an Answer with what the header adds to its class.
func (r reply) answer(class lead.Class, detail string, now time.Time) Answer {
	a := Answer{Class: class, Status: r.status, Detail: detail}
	switch class {
	case lead.ClassRateLimited:
		a.Wait = wait(r.header, now, maxWait)
	case lead.ClassPending, lead.ClassTransient: // here a full rate window is not what there is to wait for
		a.Wait = retryAfter(r.header, now, maxWait)
	case lead.ClassQuotaExhausted:
		a.Until = until(r.header, now)
	}
	return a
}
