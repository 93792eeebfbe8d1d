package httpjson

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
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
	var refused proxyRefused
	if errors.As(err, &refused) {
		return refused.Error()
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "proxyconnect" {
		return "the proxy cannot be reached: " + describe(op.Err, at)
	}
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
		if at == stageConnecting {
			return "hung up while connecting"
		}
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

// describeTLS tells what is wrong with a certificate or a handshake.
func describeTLS(err error) string {
	var (
		record    tls.RecordHeaderError
		verify    *tls.CertificateVerificationError
		host      x509.HostnameError
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &record):
		return "not TLS"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "certificate refused: expired or not yet valid"
	case errors.As(err, &host):
		return "certificate refused: of another host"
	case errors.As(err, &authority):
		return "certificate refused: of an unknown authority"
	case errors.As(err, &verify), errors.As(err, &invalid):
		return "certificate refused"
	}
	return describeHandshake(err)
}

// describeHandshake knows errors of crypto/tls that have no type of their own: its
// alerts, which come from the other end as a "remote error", and plain ones.
func describeHandshake(err error) string {
	var op *net.OpError
	alert := errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
	for ; err != nil; err = errors.Unwrap(err) {
		words, ours := strings.CutPrefix(err.Error(), "tls: ")
		switch {
		case !ours:
		case strings.Contains(words, "protocol version"):
			return "TLS refused: no version in common"
		default:
			alert = true
		}
	}
	if alert {
		return "TLS refused"
	}
	return ""
}
