package sandbox

import (
	"math"
	"net/http"
	"strconv"
)

// harm is what a fault does to the call. right makes the answer without it.
func (e *exchange) harm(f Fault, v vendor, c call, right func() response) {
	e.sleep(f.Delay)
	switch f.kind() {
	case KindStatus:
		if f.Body == nil && (f.Status == http.StatusOK || f.Status == http.StatusCreated) {
			e.send(scripted(f, right()))
			return
		}
		e.send(scripted(f, v.says(f.Status, c)))
	case KindHTML:
		e.send(scripted(f, response{status: http.StatusBadGateway, body: []byte(errorPage),
			header: http.Header{"Content-Type": {"text/html"}}}))
	case KindHang:
		e.hold()
	case KindDrop:
		e.drop()
	case KindClose:
		panic(http.ErrAbortHandler)
	case KindReset:
		e.reset()
	case KindTruncate:
		e.half(right())
		panic(http.ErrAbortHandler)
	case KindStall:
		e.half(right())
		e.hold()
	case KindAppend:
		r := right()
		r.body = append(r.body, errorPage...)
		e.send(r)
	case KindSlow:
		e.send(right())
	}
}

const errorPage = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n"

// scripted is a response with what the fault says of it.
func scripted(f Fault, r response) response {
	if f.Status != 0 {
		r.status = f.Status
	}
	if f.Body != nil {
		r.body = []byte(*f.Body)
	}
	r = join(r, nil)
	if f.Wait > 0 {
		r.header.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.Wait.Seconds()))))
	}
	for k, v := range f.Headers {
		r.header.Set(k, v)
	}
	return r
}

// half sends the header and half of the body.
func (e *exchange) half(r response) {
	e.begin(r)
	_, err := e.w.Write(r.body[:len(r.body)/2])
	if err == nil {
		err = http.NewResponseController(e.w).Flush()
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the client left
	}
}
