package testkit

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
)

// A stream is one of the two that a process writes to.
type stream int

const (
	stdout stream = iota
	stderr
)

// An output collects what a process writes and tells readers of new lines. It is
// safe for use by several goroutines.
type output struct {
	mu    sync.Mutex
	text  [2]bytes.Buffer
	ended [2]int        // how much of each text is in lines
	lines []string      // whole lines of both streams, in order of arrival
	more  chan struct{} // closed and replaced whenever lines grows
}

func newOutput() *output { return &output{more: make(chan struct{})} }

// writer returns the end of a stream that a process writes to.
func (o *output) writer(s stream) io.Writer { return streamWriter{o, s} }

type streamWriter struct {
	out *output
	s   stream
}

func (w streamWriter) Write(p []byte) (int, error) {
	w.out.write(w.s, p)
	return len(p), nil
}

func (o *output) write(s stream, p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text[s].Write(p)
	grown := false
	for {
		rest := o.text[s].Bytes()[o.ended[s]:]
		line, _, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			break
		}
		o.lines = append(o.lines, strings.TrimSuffix(string(line), "\r"))
		o.ended[s] += len(line) + 1
		grown = true
	}
	if grown {
		close(o.more)
		o.more = make(chan struct{})
	}
}

// end turns what follows the last line break of each stream into a line. It is
// for when the process has ended; doing it again changes nothing.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for s := range o.text {
		if rest := o.text[s].Bytes()[o.ended[s]:]; len(rest) > 0 {
			o.lines = append(o.lines, string(rest))
			o.ended[s] += len(rest)
		}
	}
}

// since returns the lines from number n on, and a channel that is closed when
// there are more.
func (o *output) since(n int) ([]string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lines[n:len(o.lines):len(o.lines)], o.more
}

// of returns all that was written to a stream so far.
func (o *output) of(s stream) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text[s].String()
}

// tail returns the last n lines, for a failed test's report.
func (o *output) tail(n int) string {
	lines, _ := o.since(0)
	if dropped := len(lines) - n; dropped > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before)", dropped)}, lines[dropped:]...)
	}
	if len(lines) == 0 {
		return "(no output)"
	}
	return strings.Join(lines, "\n")
}
