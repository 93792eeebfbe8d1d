package sandbox

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"backstop/lead"
)

// A vendor is the part of an API that differs from one to the other.
type vendor interface {
	name() string
	// read understands a request to /NAME/…; path is what comes after the name.
	read(r *http.Request, path string) call
	// keyOf is the key in a request, as this vendor takes it.
	keyOf(r *http.Request) string
	// tooFast is the status of a call beyond the limit.
	tooFast() int
	// headers are what is in the header of every answer.
	headers(s Script, l Limit, a arrival) http.Header
	// says is the vendor's usual answer with a status.
	says(status int, c call) response
	// answer is the right answer to a call that is about somebody.
	answer(s Script, c call) response
}

// A biller is a vendor whose books say what it would charge.
type biller interface {
	// bills reports whether an answer is charged, and if so, under what name; one
	// name is charged once. "" is charged each time.
	bills(c call, r response) (charged bool, name string)
}

// A call is one request as the sandbox understood it.
type call struct {
	provider string
	endpoint string // "" if there is no such path
	email    string // "" if the request has none
	name     string // a person's, where that is what the request asks by
	company  string // a company's name
	domain   string // a company's
	by       string // what else identifies a person: a profile, a phone number
	least    int    // the likelihood below which the answer is not wanted
	free     bool   // costs nothing, and no place in the rate limit
	nth      int    // among the calls to this provider about this person, from 1
}

// subject is whom or what the call asks about: an address, "name:ann lee@acme.example",
// "by:…" or, for a company, "domain:acme.example". "" when that cannot be told.
func (c call) subject() string {
	switch {
	case c.email != "":
		return c.email
	case c.name != "":
		return lead.NameKey(c.name, c.domain, c.company)
	case c.by != "":
		return "by:" + c.by
	case c.domain != "":
		return companyPrefix + c.domain
	}
	return ""
}

const companyPrefix = "domain:"

// A response is what is to be sent.
type response struct {
	status int
	header http.Header
	body   []byte
}

// serve answers the calls to one provider: first its rate limit, then the
// script's faults, then the key, then what was asked.
func (s *Server) serve(v vendor) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		script, at, book := s.current(v.name())
		c := v.read(r, strings.TrimPrefix(r.URL.Path, "/"+v.name()))
		c.provider = v.name()
		a := book.arrive(c)
		c.nth = a.nth
		e := &exchange{server: s, w: w, r: r, bill: func(r response) {
			if b, ok := v.(biller); ok {
				if charged, name := b.bills(c, r); charged {
					book.charge(name)
				}
			}
		}}
		defer func() { book.leave(e.status, e.dropped, e.badKey) }()

		fault, hit := script.fault(c, at)
		limit := script.Limits[v.name()]
		over := a.over && limit.Enforce != EnforceNone
		switch {
		case over && limit.Enforce == EnforceDrop:
			e.drop()
		case over:
			e.send(join(v.says(v.tooFast(), c), v.headers(script, limit, a)))
		case hit:
			e.harm(fault, v, c, func() response { return e.right(v, script, c, a) })
		default:
			e.sleep(script.latency(c.provider, c.subject(), c.nth))
			e.send(e.right(v, script, c, a))
		}
	}
}

// readQuery understands a GET request to one of the endpoints, which asks about the
// address in its query.
func readQuery(r *http.Request, path, version string, endpoints ...string) call {
	c := call{email: strings.ToLower(r.URL.Query().Get("email"))}
	for _, e := range endpoints {
		if r.Method == http.MethodGet && path == version+e {
			c.endpoint = e
		}
	}
	return c
}

// right is what the API answers when nothing is wrong with it.
func (e *exchange) right(v vendor, s Script, c call, a arrival) response {
	given, wanted := v.keyOf(e.r), s.Keys[v.name()]
	var res response
	switch email, err := lead.NormalizeEmail(c.email); {
	case given == "" || wanted != "" && given != wanted:
		e.badKey = true
		res = v.says(http.StatusUnauthorized, c)
	case c.endpoint == "":
		res = v.says(http.StatusNotFound, c)
	case c.free:
		res = v.answer(s, c)
	case c.subject() == "":
		res = v.says(http.StatusBadRequest, c)
	case c.email != "" && (err != nil || email == ""):
		res = v.says(http.StatusUnprocessableEntity, c)
	default:
		res = v.answer(s, c)
	}
	return join(res, v.headers(s, s.Limits[v.name()], a))
}

// join adds to a response's header.
func join(r response, h http.Header) response {
	if r.header == nil {
		r.header = http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	}
	for k, v := range h {
		r.header[k] = v
	}
	return r
}

// An exchange is one call while it is being answered, and what is written into
// the books at its end.
type exchange struct {
	server  *Server
	w       http.ResponseWriter
	r       *http.Request
	bill    func(response)
	status  int
	dropped bool
	badKey  bool
}

// send writes the whole response.
func (e *exchange) send(r response) {
	if r.status == http.StatusNoContent || r.status == http.StatusNotModified {
		r.body = nil // HTTP allows none
	}
	e.begin(r)
	if len(r.body) > 0 {
		if _, err := e.w.Write(r.body); err != nil {
			panic(http.ErrAbortHandler) // the client left
		}
	}
	e.status = r.status
}

// begin writes the header, which announces the whole body.
func (e *exchange) begin(r response) {
	e.bill(r)
	for k, v := range r.header {
		e.w.Header()[k] = v
	}
	if len(r.body) > 0 {
		e.w.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	e.w.WriteHeader(r.status)
}

// sleep waits, or ends the call when the client or the server goes.
func (e *exchange) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-e.gone():
		panic(http.ErrAbortHandler)
	}
}

// drop swallows the call.
func (e *exchange) drop() {
	e.dropped = true
	e.hold()
}

// hold keeps the connection without another word until the client or the server goes.
func (e *exchange) hold() {
	<-e.gone()
	panic(http.ErrAbortHandler)
}

// gone is closed when the client or the server goes. The server sees that a
// client goes only after it has read the request to its end.
func (e *exchange) gone() <-chan struct{} {
	if _, err := io.Copy(io.Discard, io.LimitReader(e.r.Body, 1<<16)); err != nil {
		panic(http.ErrAbortHandler)
	}
	return e.r.Context().Done()
}

// reset ends the connection with a TCP reset instead of a proper close.
func (e *exchange) reset() {
	conn, _, err := http.NewResponseController(e.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the end is a plain close, the next best thing
	}
	_ = conn.Close() // fails only when the client has gone already
}
