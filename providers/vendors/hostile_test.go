package vendors_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"backstop/lead"
)

func TestHostileServers(t *testing.T) {
	gz := okHead + "Content-Encoding: gzip\r\n"
	sized := func(head, body string) string {
		return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
	}
	for _, c := range []struct {
		name   string
		talk   func(*net.TCPConn, *http.Request, <-chan struct{})
		detail string // a part of it; the class is transient
	}{
		{"headers that drip are cut off by the deadline", drips("HTTP/1.1 200 OK\r\n", "X-A: b\r\n", 20*time.Millisecond), "time-out waiting"},
		{"headers without an end are cut off", drips("HTTP/1.1 200 OK\r\n", strings.Repeat("X-A: b\r\n", 1000), 0), "not an HTTP answer"},
		{"interim answers without an end are cut off", drips("", "HTTP/1.1 103 Early Hints\r\nX: "+strings.Repeat("y", 4000)+"\r\n\r\n", 0), "not an HTTP answer"},
		{"a body that drips is cut off by the deadline", drips(okHead+"\r\n", " ", 20*time.Millisecond), "time-out reading"},
		{"a body without an end is cut off at the bound", drips(okHead+"\r\n", strings.Repeat(" ", 1<<16), 0), "body over"},
		{"a chunked body without an end is cut off at the bound", drips(okHead+"Transfer-Encoding: chunked\r\n\r\n", "1000\r\n"+strings.Repeat(" ", 0x1000)+"\r\n", 0), "body over"},
		{"a body announced as too long is not read", sends(okHead + "Content-Length: 99999999999\r\n\r\n{"), "body over"},
		{"100 bytes announced and 23 sent are truncated", sends(okHead + "Content-Length: 100\r\n\r\n" + answer[:23]), "truncated body"},
		{"a whole document under a greater length is truncated", sends(okHead + "Content-Length: 500\r\n\r\n" + answer), "truncated body"},
		{"a chunked body that breaks off is truncated", sends(okHead + "Transfer-Encoding: chunked\r\n\r\n10\r\n{\"person\":null,"), "truncated body"},
		{"a body of no announced length that breaks off is truncated", sends(okHead + "\r\n" + answer[:23]), "truncated JSON"},
		{"broken gzip", sends(sized(gz, "this is not gzip")), "broken compression"},
		{"gzip that breaks off", sends(sized(gz, gzipped(strings.NewReader(answer))[:20])), "truncated body"},
		{"gzip with a wrong checksum", sends(sized(gz, flip(gzipped(strings.NewReader(answer))))), "broken compression"},
		{"a gzip bomb is cut off at the bound", sends(sized(gz, gzipped(io.LimitReader(zeros{}, 8<<20)))), "body over"},
		{"gzip declared and not done", sends(sized(gz, answer)), "broken compression"},
		{"gzip declared of nothing", sends(sized(gz, "")), ""},
		{"gzip twice over", sends(sized(gz, gzipped(strings.NewReader(gzipped(strings.NewReader(answer)))))), "invalid UTF-8"},
		{"gzip done and not declared", sends(sized(okHead, gzipped(strings.NewReader(answer)))), "invalid UTF-8"},
		{"deflate", sends(sized(okHead+"Content-Encoding: deflate\r\n", answer)), "unknown compression"},
		{"brotli", sends(sized(okHead+"Content-Encoding: br\r\n", answer)), "unknown compression"},
		{"zstd", sends(sized(okHead+"Content-Encoding: zstd\r\n", answer)), "unknown compression"},
		{"two compressions", sends(sized(okHead+"Content-Encoding: gzip, br\r\n", answer)), "unknown compression"},
		{"a length that is negative", sends(okHead + "Content-Length: -5\r\n\r\n" + answer), "not an HTTP answer"},
		{"a length that is no number", sends(okHead + "Content-Length: many\r\n\r\n" + answer), "not an HTTP answer"},
		{"two lengths", sends(okHead + "Content-Length: 10\r\nContent-Length: 20\r\n\r\n" + answer), "not an HTTP answer"},
		{"a length that is too short", sends(okHead + "Content-Length: 30\r\n\r\n" + answer), "truncated JSON"},
		{"a length beside chunks", sends(okHead + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "broken body"},
		{"a chunk without a size", sends(okHead + "Transfer-Encoding: chunked\r\n\r\nhello\r\n"), "broken body"},
		{"a chunk of a negative size", sends(okHead + "Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n"), "broken body"},
		{"another transfer encoding", sends(okHead + "Transfer-Encoding: gzip\r\n\r\n" + answer), "not an HTTP answer"},
		{"headers that are too long", sends("HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("y", 1<<20) + "\r\n\r\n"), "not an HTTP answer"},
		{"a header without a colon", sends("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"), "not an HTTP answer"},
		{"a status of no meaning", sends("HTTP/1.1 999 Hm\r\nContent-Length: 0\r\n\r\n"), "a status that does not exist"},
		{"a status that is none", sends("HTTP/1.1 OK\r\n\r\n"), "not an HTTP answer"},
		{"a hang-up before the answer", sends(""), "hung up"},
		{"half a status line", sends("HTTP/1.1 2"), "not an HTTP answer"},
		{"another protocol", sends("SSH-2.0-OpenSSH_9.6\r\n\r\n"), "not an HTTP answer"},
		{"a reset before the answer", resets(""), "connection reset"},
		{"HTML that says it is JSON", whole("<!doctype html><p>Sorry"), "HTML instead of JSON"},
		{"JSON that says it is HTML", sends(sized("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", answer)), "HTML instead of JSON"},
		{"another content type", sends(sized("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n", answer)), "wrong content type"},
		{"HTML behind the JSON", whole(answer + "<html>"), "more after the JSON"},
		{"two documents", whole(answer + answer), "more after the JSON"},
		{"an empty body", whole(""), "empty body"},
		{"a blank body", whole(" \r\n\t "), "empty body"},
		{"text", whole("Service Unavailable"), `not JSON ("Service Unavailable")`},
		{"a page of HTML", sends(sized("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", "<html><title>502 Bad Gateway</title><p>"+secretEmail)), `HTML instead of JSON ("502 Bad Gateway")`},
		{"a page that names the person", whole("<html><title>No record of " + secretEmail + " was found, Maria</title>"), `HTML instead of JSON ("No … of … found …")`},
		{"a page without an end", drips("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", strings.Repeat("<p>error</p>", 1000), 0), "body over"},
		{"UTF-16 with its mark", whole(utf16le("\ufeff" + answer)), "invalid UTF-8"},
		{"UTF-16 without its mark", whole(utf16le(answer)), "not JSON"},
		{"a number that is too great for JSON's readers", whole(strings.Repeat("9", 1<<19)), "not in the form"},
		{"a number that is none", whole(`{"person":NaN}`), "not JSON"},
		{"half an escape", whole(`{"person":"\u12`), "truncated JSON"},
		{"a comment", whole(`/* x */ {}`), "not JSON"},
		{"a comma too many", whole(`{"person":null,}`), "not JSON"},
		{"NUL bytes", whole(strings.Repeat("\x00", 100)), "not JSON"},
		{"bytes that are no UTF-8", whole("{\"person\":{\"name\":\"Garc\xeda\"}}"), "invalid UTF-8"},
		{"a nest of arrays", whole(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), "nested too deeply"},
		{"a nest of objects", whole(strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)), "nested too deeply"},
		{"a crowd of values", whole("[" + strings.Repeat("0,", 500_000) + "0]"), "too many values"},
		{"a key twice", whole(`{"person":{"email":"a@b.example","email":"c@d.example"},"company":null}`), "a key stands twice"},
		{"an array", whole(`[` + answer + `]`), "not in the form"},
		{"a string", whole(`"ok"`), "not in the form"},
	} {
		for _, name := range coded {
			t.Run(name+": "+c.name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if !strings.Contains(c.detail, "time-out") { // only what never ends may run into it
					ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
				}
				defer cancel()
				began := time.Now()
				a := ask(t, ctx, provider(t, name, raw(t, c.talk)), lead.Lead{Email: secretEmail})
				if a.Class != lead.ClassTransient || !strings.Contains(a.Detail, c.detail) {
					t.Errorf("answer is %s %q, want transient %q", a.Class, a.Detail, c.detail)
				}
				if deadline, _ := ctx.Deadline(); time.Now().After(deadline.Add(2 * time.Second)) {
					t.Errorf("the call took %s, long past its deadline", time.Since(began))
				}
			})
		}
	}
}

// utf16le is ASCII text as Windows would save it.
func utf16le(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

func flip(gz string) string {
	b := []byte(gz)
	b[len(b)-8] ^= 1
	return string(b)
}

// A reset after the header may reach the client before the header does.
func TestAResetAtAnyStageIsTransient(t *testing.T) {
	for _, name := range coded {
		for stage, sent := range map[string]string{
			"before the answer": "", "within the status line": "HTTP/1.1 20", "within the header": okHead + "Content-Le",
			"after the header": okHead + "Content-Length: 100\r\n\r\n", "within the body": okHead + "Content-Length: 100\r\n\r\n{",
			"within a chunk": okHead + "Transfer-Encoding: chunked\r\n\r\n10\r\n{",
		} {
			a := ask(t, t.Context(), provider(t, name, raw(t, resets(sent))), lead.Lead{Email: secretEmail})
			if a.Class != lead.ClassTransient || a.Detail == "" || !a.Billed {
				t.Errorf("%s, %s: answer is %s %q, billed is %t", name, stage, a.Class, a.Detail, a.Billed)
			}
		}
	}
}

// What a call takes does not grow with what the server sends: here 64
// MiB of zeros in gzip, a body that never ends, and half a million values.
func TestMemoryIsBounded(t *testing.T) {
	bomb := gzipped(io.LimitReader(zeros{}, 64<<20))
	for name, talk := range map[string]func(*net.TCPConn, *http.Request, <-chan struct{}){
		"bomb":    sends(fmt.Sprintf("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", okHead, len(bomb), bomb)),
		"endless": drips(okHead+"\r\n", strings.Repeat(" ", 1<<16), 0),
		"crowd":   whole("[" + strings.Repeat("0,", 500_000) + "0]"),
	} {
		t.Run(name, func(t *testing.T) {
			p := provider(t, "pdl", raw(t, talk))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ask(t, t.Context(), p, lead.Lead{Email: secretEmail})
			runtime.ReadMemStats(&after)
			// All that was ever allocated, in both ends: the body in the steps in which
			// its buffer grows, and the document's tree.
			if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
				t.Errorf("the call allocated %d MiB", got>>20)
			}
		})
	}
}
