package monitor

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"backstop/chain"
	"backstop/lead"
	"backstop/ledger"
	"backstop/reconcile"
	"backstop/resilience"
	"backstop/tasks"
)

// Metrics counts what happens in one process. It is the observer of the tasks
// and a hook of the gate.
type Metrics struct {
	Registry *prometheus.Registry

	calls, retries, transitions, settled, rescued *prometheus.CounterVec
	panics, kept, notKept, credits, capped        *prometheus.CounterVec
	snoozes, retriedLeads                         prometheus.Counter
	callSeconds                                   *prometheus.HistogramVec
	leadSeconds, acceptedSeconds                  prometheus.Histogram
}

var (
	_ tasks.Observer     = (*Metrics)(nil)
	_ reconcile.Observer = (*Metrics)(nil)
)

// NewMetrics registers all metrics, the Go runtime's and the process's included.
func NewMetrics() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "backstop", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Namespace: "backstop", Name: name, Help: help, Buckets: buckets}
	}
	m := &Metrics{
		Registry:    prometheus.NewRegistry(),
		calls:       counter("provider_answers_total", "Calls to providers and refusals by the gate, by the class of the answer.", "provider", "class"),
		retries:     counter("retries_total", "Retries scheduled after a transient failure, by the provider that failed.", "provider"),
		transitions: counter("circuit_transitions_total", "Changes of circuits; own is true for those that this replica made.", "provider", "to", "own"),
		settled:     counter("settled_leads_total", "Outcomes written, by status and by the way to them.", "status", "path"),
		rescued:     counter("rescued_leads_total", "Leads that the reconciler put back, by queue.", "queue"),
		panics:      counter("provider_panics_total", "Panics of a provider's client.", "provider"),
		kept:        counter("kept_answers_total", "Calls to providers that were not made because the answer was kept.", "provider"),
		notKept:     counter("answers_not_kept_total", "Answers that should have been kept and were not, because Redis was away.", "provider"),
		credits:     counter("credits_total", "Credits spent at providers, by their configured prices.", "provider"),
		capped:      counter("capped_calls_total", "Calls that were not made because a cap on credits was reached.", "provider", "per"),
		snoozes: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "backstop", Name: "snoozes_total",
			Help: "Leads put back without a failure: no free slot, a pause, a pending answer."}),
		retriedLeads: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "backstop", Name: "retried_leads_total",
			Help: "Settled leads for which at least one retry was made."}),
		callSeconds: prometheus.NewHistogramVec(histogram("provider_call_duration_seconds", "Duration of calls to providers.",
			[]float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}), []string{"provider"}),
		leadSeconds: prometheus.NewHistogram(histogram("lead_duration_seconds", "From a worker taking a lead to its outcome.",
			[]float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 7.5, 10, 15, 30, 60, 120})),
		acceptedSeconds: prometheus.NewHistogram(histogram("lead_accepted_duration_seconds", "From the acceptance of a lead to its outcome.",
			[]float64{.1, .5, 1, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600})),
	}
	m.Registry.MustRegister(
		m.calls, m.retries, m.transitions, m.settled, m.rescued, m.panics, m.kept, m.notKept, m.credits, m.capped, m.snoozes, m.retriedLeads,
		m.callSeconds, m.leadSeconds, m.acceptedSeconds,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Trail counts a call, a kept answer, a skip or a fallback.
func (m *Metrics) Trail(e lead.TrailEntry) {
	if chain.IsCached(e) {
		m.kept.WithLabelValues(e.Provider).Inc()
		return
	}
	m.calls.WithLabelValues(e.Provider, string(e.Class)).Inc()
	if e.Credits > 0 {
		m.credits.WithLabelValues(e.Provider).Add(e.Credits)
	}
	if e.Class != lead.ClassSkip && e.Class != lead.ClassFallback && e.Class != lead.ClassCrash {
		m.callSeconds.WithLabelValues(e.Provider).Observe(float64(e.Millis) / 1000)
	}
}

// Retry counts a scheduled retry.
func (m *Metrics) Retry(provider string) { m.retries.WithLabelValues(provider).Inc() }

// Snooze counts a lead that was put back without a failure.
func (m *Metrics) Snooze() { m.snoozes.Inc() }

// Settled counts an outcome, if it is the lead's now.
func (m *Metrics) Settled(s ledger.Settlement, done ledger.Settled, acceptedAt lead.Time) {
	if !done.Applied {
		return
	}
	m.settled.WithLabelValues(string(done.Status), string(s.Path())).Inc()
	if s.Retries > 0 {
		m.retriedLeads.Inc()
	}
	m.leadSeconds.Observe(time.Since(s.StartedAt.Time).Seconds())
	m.acceptedSeconds.Observe(time.Since(acceptedAt.Time).Seconds())
}

// Rescued counts leads that the reconciler put back.
func (m *Metrics) Rescued(n int, queue string) { m.rescued.WithLabelValues(queue).Add(float64(n)) }

// NotKept counts an answer that should have been kept and was not.
func (m *Metrics) NotKept(provider string) { m.notKept.WithLabelValues(provider).Inc() }

// Capped counts a call that was not made because a cap was reached, of the "day" or
// the "month".
func (m *Metrics) Capped(provider, per string) { m.capped.WithLabelValues(provider, per).Inc() }

// Panicked counts a panic of a provider's client.
func (m *Metrics) Panicked(provider string) { m.panics.WithLabelValues(provider).Inc() }

// Transition counts a change of a circuit.
func (m *Metrics) Transition(t resilience.Transition) {
	m.transitions.WithLabelValues(t.Provider, t.To.String(), strconv.FormatBool(t.Own)).Inc()
}
