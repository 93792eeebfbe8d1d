package providers

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
)

// A stage is how far a call came before it failed.
type stage int32

const (
	stageConnecting stage = iota // no connection yet
	stageWaiting                 // connected; no answer yet
	stageReading                 // the header of the answer is there
)

// describe says in a few words of its own what went wrong. Errors of net/http
// are never quoted: they hold the URL and in it the address that was asked about.
func describe(err error, at stage) string {
	if isTimeout(err) {
		return [...]string{"time-out connecting", "time-out waiting for the answer", "time-out reading the answer"}[at]
	}
	for _, k := range knownErrors {
		if errors.Is(err, k.err) {
			return k.words
		}
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		if dns.IsNotFound {
			return "no such host"
		}
		return "name look-up failed"
	}
	if words := describeTLS(err); words != "" {
		return words
	}
	var corrupt flate.CorruptInputError
	switch {
	case errors.As(err, &corrupt):
		return "broken compression"
	case errors.Is(err, io.ErrUnexpectedEOF) && at == stageReading:
		return "truncated body"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "hung up without an answer"
	}
	return [...]string{"no connection", "not an HTTP answer", "broken body"}[at]
}

// knownErrors are checked in this order. Running out of file descriptors goes
// before the look-up of names, which fails with it and used to be reported as
// "no such host" (https://github.com/golang/go/issues/18588).
var knownErrors = []struct {
	err   error
	words string
}{
	{syscall.EMFILE, "out of file descriptors"},
	{syscall.ENFILE, "out of file descriptors"},
	{syscall.ECONNREFUSED, "connection refused"},
	{syscall.ECONNRESET, "connection reset"},
	{syscall.EPIPE, "connection reset"},
	{syscall.ECONNABORTED, "connection reset"},
	{syscall.EHOSTUNREACH, "host unreachable"},
	{syscall.ENETUNREACH, "network unreachable"},
	{http.ErrSchemeMismatch, "not TLS"},
	{gzip.ErrHeader, "broken compression"},
	{gzip.ErrChecksum, "broken compression"},
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &n) && n.Timeout()
}

func describeTLS(err error) string {
	var (
		record tls.RecordHeaderError
		verify *tls.CertificateVerificationError
		alert  tls.AlertError
	)
	switch {
	case errors.As(err, &record):
		return "not TLS"
	case errors.As(err, &verify):
		return "certificate refused"
	case errors.As(err, &alert):
		return "TLS refused"
	}
	return ""
}
