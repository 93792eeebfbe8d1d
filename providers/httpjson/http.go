package httpjson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"backstop/lead"
	"backstop/providers"
)

// Options are what every provider that is asked over HTTP needs.
type Options struct {
	// BaseURL is scheme and host, and a prefix if there is one; the API's own
	// paths are appended to it. Empty: the vendor's.
	BaseURL string
	// APIKey is sent in a header, and in the URL only by a described provider whose
	// API takes it nowhere else. With an empty one requests carry no key at all, for
	// use behind a proxy that adds it.
	APIKey string
	// Want are the fields that make a profile full. An answer that leaves none of
	// them open is ok, one that leaves some is partial.
	Want []lead.Field
	// MinLikelihood is how sure People Data Labs has to be, from 1 to 10, that it
	// found the right person; 0: 6. Others do not use it.
	MinLikelihood int
	// HTTP is the client to use; nil: [DefaultClient]. Its Timeout, Jar and
	// CheckRedirect are not used: the context is the only deadline, no state is
	// kept between calls, and redirects are not followed.
	HTTP *http.Client
	// MaxBody is the most bytes of an answer that are read, after decompression.
	// 0: 1 MiB.
	MaxBody int64
	// Now is the clock against which dates in headers are read; nil: time.Now.
	Now func() time.Time
}

// The bounds of one call.
const (
	defaultMaxBody = 1 << 20
	userAgent      = "backstop/1"
)

// An API is the hardened path that every request of an HTTP provider takes.
type API struct {
	Options
	Base  string // without a slash at the end
	wrong string // why no request can be made; "" if it can
	// way is the client's transport. It is asked directly: the client itself would read
	// the address of a redirect even where it does not follow it, and fail on a bad one.
	way http.RoundTripper
}

// New fills the options' defaults.
func New(o Options, baseURL string) API {
	if o.BaseURL == "" {
		o.BaseURL = baseURL
	}
	if o.MaxBody <= 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HTTP == nil {
		o.HTTP = DefaultClient()
	}
	o.APIKey = strings.TrimSpace(o.APIKey) // files that hold a key end in a newline
	v := API{Options: o, way: o.HTTP.Transport}
	if v.way == nil {
		v.way = DefaultClient().Transport
	}
	if err := Check(o); err != nil {
		v.wrong = err.Error()
	}
	v.Base = strings.TrimRight(o.BaseURL, "/")
	return v
}

// Check reports what makes requests impossible. The error quotes neither
// the URL, which may hold a password, nor the key.
func Check(o Options) error {
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("base_url is not an http or https address")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("base_url must have no user, query or fragment")
	case strings.ContainsFunc(o.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the API key has characters that no header can carry")
	case o.MinLikelihood < 0 || o.MinLikelihood > 10:
		return errors.New("min_likelihood must be from 1 to 10")
	}
	return nil
}

// A Reply is an answer as it came over the network.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
	bad    string // why the body is not whole; "" when it is
}

// unsent is a request body without a byte. The transport sends a request again
// by itself when a reused connection breaks, but only one without a body. With
// this one a call is one request, and what goes out is the same.
type unsent struct{}

func (unsent) Read([]byte) (int, error) { return 0, io.EOF }

// A Request is what a provider asks. Its header has everything of the API's
// own, such as the key.
type Request struct {
	Method string // "": GET
	Base   string // "": the provider's
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte // nil: none
}

// Get makes one GET request; see [API.Do]. sign puts the key into the header.
func (v *API) Get(ctx context.Context, path string, query url.Values, sign func(http.Header)) (Reply, *providers.Answer) {
	return v.GetFrom(ctx, v.Base, path, query, sign)
}

// GetFrom is Get from another host than the provider's first.
func (v *API) GetFrom(ctx context.Context, base, path string, query url.Values, sign func(http.Header)) (Reply, *providers.Answer) {
	q := Request{Base: base, Path: path, Query: query, Header: http.Header{}}
	if v.APIKey != "" {
		sign(q.Header)
	}
	return v.Do(ctx, q)
}

// form makes the request as net/http wants it. Its body cannot be read a second
// time, so that the transport never sends it again by itself.
func (v *API) form(ctx context.Context, q Request) (*http.Request, error) {
	if q.Method == "" {
		q.Method = http.MethodGet
	}
	if q.Base == "" {
		q.Base = v.Base
	}
	address := q.Base + q.Path
	if len(q.Query) > 0 {
		address += "?" + q.Query.Encode()
	}
	var body io.Reader = unsent{}
	if q.Body != nil {
		body = io.MultiReader(bytes.NewReader(q.Body))
	}
	req, err := http.NewRequestWithContext(ctx, q.Method, address, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(len(q.Body))
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	for k, values := range q.Header {
		req.Header[http.CanonicalHeaderKey(k)] = values
	}
	return req, nil
}

// Do makes one request and reads the whole answer. It returns an Answer instead
// when nothing came that has a status.
func (v *API) Do(ctx context.Context, q Request) (Reply, *providers.Answer) {
	if v.wrong != "" {
		return Reply{}, &providers.Answer{Class: lead.ClassOurBug, Detail: v.wrong}
	}
	var at progress
	req, err := v.form(at.traced(ctx), q)
	if err != nil {
		return Reply{}, &providers.Answer{Class: lead.ClassOurBug, Detail: "the request cannot be formed"}
	}
	res, err := v.way.RoundTrip(req)
	if err != nil {
		return Reply{}, unanswered(ctx, err, at.stage())
	}
	defer func() { _ = res.Body.Close() }() // all that is wanted of it has been read
	r := Reply{Status: res.StatusCode, Header: res.Header}
	if res.ContentLength > v.MaxBody {
		r.bad = tooLong(v.MaxBody)
		return r, nil
	}
	r.Body, err = io.ReadAll(io.LimitReader(res.Body, v.MaxBody+1))
	switch {
	case err != nil && ctx.Err() == context.Canceled:
		return Reply{}, unanswered(ctx, err, stageReading)
	case err != nil:
		r.bad = describe(err, stageReading)
	case int64(len(r.Body)) > v.MaxBody:
		r.bad = tooLong(v.MaxBody)
	}
	return r, nil
}

func tooLong(limit int64) string { return fmt.Sprintf("body over %d bytes", limit) }

// unanswered is the Answer to a call to which no status came. A call that its
// caller gave up has no class: it says nothing about the provider.
func unanswered(ctx context.Context, err error, at stage) *providers.Answer {
	if ctx.Err() == context.Canceled {
		return &providers.Answer{Detail: "cancelled"}
	}
	if ctx.Err() == context.DeadlineExceeded {
		err = context.DeadlineExceeded // what else broke, broke because of it
	}
	return &providers.Answer{Class: lead.ClassTransient, Detail: describe(err, at), Billed: at > stageConnecting}
}

// progress is how far a request has come.
type progress struct{ at atomic.Int32 }

func (p *progress) stage() stage { return stage(p.at.Load()) }

func (p *progress) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { p.at.Store(int32(stageWaiting)) },
	})
}
