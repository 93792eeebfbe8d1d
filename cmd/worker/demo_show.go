package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"backstop/app"
	"backstop/lead"
	"backstop/ledger"
	"backstop/ops"
	"backstop/providers/sandbox"
	"backstop/resilience"
)

// A screen shows one line that changes: in place on a terminal, as a new line now
// and then elsewhere.
type screen struct {
	w        io.Writer
	terminal bool
	last     time.Time
	phase    string
}

// plainEvery is the time between lines where there is no terminal.
const plainEvery = 4 * time.Second

func newScreen(w io.Writer) *screen {
	f, ok := w.(*os.File)
	return &screen{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

func (s *screen) say(format string, args ...any) { fmt.Fprintf(s.w, format+"\n", args...) }

// line shows the current state; a new phase always gets a line of its own.
func (s *screen) line(phase, text string) {
	changed := phase != s.phase
	s.phase = phase
	if s.terminal {
		if changed && !s.last.IsZero() {
			fmt.Fprintln(s.w)
		}
		fmt.Fprintf(s.w, "\r\x1b[K%s", text)
		s.last = time.Now()
		return
	}
	if changed || time.Since(s.last) >= plainEvery {
		fmt.Fprintln(s.w, text)
		s.last = time.Now()
	}
}

func (s *screen) end() {
	if s.terminal {
		fmt.Fprintln(s.w)
	}
}

func (d *demo) introduce(s *screen) {
	s.say("%d leads, %d replicas, one embedded Redis, a SQLite ledger; Clearbit and Hunter are imitated,", len(d.leads), demoReplicas)
	s.say("allow %d calls a second each, drop the rest unanswered, and fail on script.", demoRate(len(d.leads)))
}

// show prints how far the demo is.
func (d *demo) show(ctx context.Context, s *screen, elapsed time.Duration, b ops.AuditCounts) error {
	circuits, err := d.replicas[0].Gate.Circuits(ctx)
	if err != nil {
		return err
	}
	var states strings.Builder
	for _, c := range circuits {
		if c.Provider == sandbox.Clearbit || c.Provider == sandbox.Hunter {
			fmt.Fprintf(&states, "  %s %s", c.Provider, circuitState(c, time.Now()))
		}
	}
	s.line(phase(elapsed), fmt.Sprintf("%4.0fs %-17s accepted %d  enriched %d  partial %d  open %d %s",
		elapsed.Seconds(), phase(elapsed), b.Accepted, b.Settled.Enriched, b.Settled.Partial, b.Open, states.String()))
	return nil
}

func circuitState(c resilience.Circuit, now time.Time) string {
	switch {
	case c.SuspendedUntil.After(now):
		return "suspended"
	case c.PausedUntil.After(now):
		return "paused"
	default:
		return c.State
	}
}

// A demoReport is what the demo prints with --json.
type demoReport struct {
	ops.AuditCounts
	FailedOver int64                   `json:"failed_over"` // enriched by a provider after another one failed or was held back
	Measures   measures                `json:"measures"`
	Providers  map[string]demoProvider `json:"providers"`
}

// A demoProvider is one provider as the sandbox and the gate saw it.
type demoProvider struct {
	Calls           int         `json:"calls"`
	ByStatus        map[int]int `json:"by_status"` // 0: no answer
	MostInAnySecond int         `json:"most_in_any_second"`
	Limit           int         `json:"limit_per_second"`
	OverLimit       int         `json:"over_limit"`
	Circuit         string      `json:"circuit"`
	Trips           int64       `json:"trips"`
}

// finish audits, prints the report and, if asked, stays.
func (d *demo) finish(ctx context.Context, c *cobra.Command, s *screen) error {
	report, err := d.report(ctx)
	if err != nil {
		return err
	}
	if err := show(c.OutOrStdout(), d.json, report, func() string { return report.text(time.Since(d.began)) }); err != nil {
		return err
	}
	if d.keep {
		if err := d.stay(ctx, s); err != nil {
			return err
		}
	}
	if report.Unaccounted > 0 || report.Open > 0 {
		return app.ErrQuiet
	}
	return nil
}

func (d *demo) report(ctx context.Context) (demoReport, error) {
	books, err := ops.Audit(ctx, d.app.Ledger, d.app.Queue, time.Now(), nil)
	if err != nil {
		return demoReport{}, err
	}
	m, err := d.app.Ledger.Measures(ctx, time.Time{})
	if err != nil {
		return demoReport{}, err
	}
	circuits, err := d.replicas[0].Gate.Circuits(ctx)
	if err != nil {
		return demoReport{}, err
	}
	r := demoReport{AuditCounts: books, Measures: measuresOf(m), Providers: map[string]demoProvider{}}
	for o, err := range d.app.Ledger.Outcomes(ctx, ledger.Filter{Statuses: []lead.Status{lead.StatusEnriched}}) {
		if err != nil {
			return demoReport{}, err
		}
		if failedOver(o.Trail) {
			r.FailedOver++
		}
	}
	seen := d.sandbox.Books().Providers
	for _, name := range d.app.Providers() {
		b := seen[name]
		p := demoProvider{
			Calls: b.Calls, ByStatus: b.ByStatus, MostInAnySecond: b.MostInAnySecond,
			Limit: b.Limit.Rate, OverLimit: b.OverLimit, Trips: r.Measures.CircuitTrips[name],
		}
		for _, c := range circuits {
			if c.Provider == name {
				p.Circuit = c.State
			}
		}
		r.Providers[name] = p
	}
	return r, nil
}

// failedOver reports whether the last data came from another provider than one
// that had failed or was held back before.
func failedOver(trail []lead.TrailEntry) bool {
	down := map[string]bool{}
	over := false
	for _, e := range trail {
		switch {
		case e.Class == lead.ClassTransient, e.Class == lead.ClassSkip:
			down[e.Provider] = true
		case e.Class.HasData():
			delete(down, e.Provider)
			over = len(down) > 0
		}
	}
	return over
}

func (r demoReport) text(took time.Duration) string {
	t := app.Table("provider", "calls", "most in any second", "limit", "over it", "trips", "circuit", "answers by status")
	for _, name := range slices.Sorted(maps.Keys(r.Providers)) {
		p := r.Providers[name]
		t.AppendRow(table.Row{name, p.Calls, p.MostInAnySecond, fmt.Sprintf("%d/s", p.Limit), p.OverLimit, p.Trips, p.Circuit, byStatus(p.ByStatus)})
	}
	return strings.Join([]string{
		auditText(r.AuditCounts, nil), r.Measures.text(),
		fmt.Sprintf("%d leads were retried; %d were enriched by the next provider while another failed or its circuit was open.", r.Measures.Retried, r.FailedOver),
		t.Render(),
		fmt.Sprintf("It took %.0f s. The calls are what the imitated APIs counted themselves.", took.Seconds()),
	}, "\n")
}

// stay serves asynqmon until the demo is interrupted.
func (d *demo) stay(ctx context.Context, s *screen) error {
	admin, err := d.app.StartAdmin("127.0.0.1:9090", d.metrics)
	if err != nil { // the port is taken
		if admin, err = d.app.StartAdmin("127.0.0.1:0", d.metrics); err != nil {
			return err
		}
	}
	s.say("asynqmon: %s   metrics: %s/metrics   Ctrl-C ends it", admin.AsynqmonURL(), admin.URL())
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return admin.Close(ctx)
}

// byStatus lists counts of answers by status: "200 x5, 503 x2".
func byStatus(m map[int]int) string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(m)) {
		name := strconv.Itoa(status)
		if status == 0 {
			name = "none"
		}
		parts = append(parts, fmt.Sprintf("%s x%d", name, m[status]))
	}
	return strings.Join(parts, ", ")
}
