package fleet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"backstop/intake"
	"backstop/lead"
	"backstop/ops"
	"backstop/providers/sandbox"
	"backstop/testkit"
)

// Enqueue writes a file of leads and runs enqueue file over it.
func (f *Fleet) Enqueue(name, content string) intake.Summary {
	f.tb.Helper()
	return Decode[intake.Summary](f.tb, f.Run(0, Enqueue, "file", f.Write(name, content), "--json"))
}

// Audit runs worker audit, which must find nothing wrong, and returns its books.
func (f *Fleet) Audit() ops.AuditCounts {
	f.tb.Helper()
	return Decode[ops.AuditCounts](f.tb, f.Run(0, Worker, "audit", "--json"))
}

// WaitSettled waits until no lead is open. On the way there some may be unaccounted
// for, until the reconciler has found them.
func (f *Fleet) WaitSettled(within time.Duration) ops.AuditCounts {
	f.tb.Helper()
	testkit.Eventually(f.tb, within, "no lead is open", func() bool {
		p := f.Start(Worker, "audit", "--json")
		code := p.Wait(time.Minute)
		return (code == 0 || code == 1) && Decode[ops.AuditCounts](f.tb, p.Stdout()).Open == 0
	})
	return f.Audit()
}

// Outcomes exports all outcomes, in the export's order.
func (f *Fleet) Outcomes() []lead.Outcome {
	f.tb.Helper()
	var all []lead.Outcome
	lines := bufio.NewScanner(strings.NewReader(f.Run(0, Enqueue, "outcomes", "--format", "jsonl")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		all = append(all, Decode[lead.Outcome](f.tb, lines.Text()))
	}
	if err := lines.Err(); err != nil {
		f.tb.Fatal(err)
	}
	return all
}

// Books are what the sandbox counted itself, by provider.
func (f *Fleet) Books() map[string]sandbox.Book {
	f.tb.Helper()
	b, err := get(f.Sandbox + "/books")
	if err != nil {
		f.tb.Fatal(err)
	}
	return Decode[sandbox.Books](f.tb, string(b)).Providers
}

// get leaves no idle connection behind, whose goroutines would look like a leak.
func get(url string) ([]byte, error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		return nil, fmt.Errorf("ask the sandbox for its books: %w", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the sandbox's books: %w", err)
	}
	return b, nil
}

// A SettledLine is what a worker logs when it has settled a lead.
type SettledLine struct {
	LeadID  string      `json:"lead_id"`
	Status  lead.Status `json:"status"`
	Path    string      `json:"path"`
	Applied bool        `json:"applied"` // it became the lead's outcome
}

// SettledLines are those that all workers have written, also those that were
// killed; each worker's in its own order.
func (f *Fleet) SettledLines() []SettledLine {
	f.tb.Helper()
	var all []SettledLine
	for _, w := range f.workers {
		for line := range strings.Lines(w.Stderr()) {
			if !strings.Contains(line, `"event":"settled"`) || !strings.HasSuffix(line, "\n") {
				continue // not one, or cut short by a kill
			}
			var s SettledLine
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				f.tb.Fatalf("%v in %.300s", err, line)
			}
			all = append(all, s)
		}
	}
	return all
}

// Decode reads JSON that has nothing unknown in it.
func Decode[T any](tb testing.TB, s string) T {
	tb.Helper()
	var v T
	d := json.NewDecoder(bytes.NewReader([]byte(s)))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("%v in %.300s", err, s)
	}
	return v
}
