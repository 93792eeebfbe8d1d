package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vbauerster/mpb/v8"

	"backstop/intake"
)

// The bar is drawn while the importer counts. The race detector fails this test when
// the two share a number without care. Off a terminal a line has 40 columns.
func TestTheBarIsDrawnWhileTheImporterCounts(t *testing.T) {
	var w screen
	p := newBar(&w, "leads.csv", 1000, mpb.WithAutoRefresh(), mpb.WithRefreshRate(time.Millisecond))
	p.columns([]intake.Column{{Index: 1, Header: "Mail", Field: "email"}}, "utf-8")
	for n := int64(1); !w.shows("7 accepted"); n++ {
		p.update(intake.Summary{Read: n, Accepted: min(n, 7)}, min(n, 999))
	}
	p.update(intake.Summary{Read: 9, Accepted: 7, Duplicate: 1, Rejected: 1}, 1000)
	p.end()
	for _, want := range []string{"leads.csv (utf-8): Mail -> email", "100 %  7 accepted, 1 dupl"} {
		if !w.shows(want) {
			t.Errorf("%q is not shown", want)
		}
	}
}

func TestWithoutATerminalNothingIsDrawn(t *testing.T) {
	var w bytes.Buffer
	p := newProgress(&w, "leads.csv", 1000)
	p.columns([]intake.Column{{Index: 1, Header: "Mail", Field: "email"}}, "utf-8")
	p.update(intake.Summary{Read: 1}, 10)
	p.end()
	if w.Len() > 0 {
		t.Errorf("drawn: %q", w.String())
	}
}

// screen keeps what is drawn.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) shows(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text.String(), text)
}
