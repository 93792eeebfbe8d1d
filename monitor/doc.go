// Package monitor is what operators look at: metrics, health and asynqmon.
//
// The four measures can be computed from the metrics alone:
//
//	retry success rate   backstop_settled_leads_total{path="retried",status="enriched"} / backstop_retried_leads_total
//	circuit trips        backstop_circuit_transitions_total{to="open",own="true"}
//	fallback share       backstop_settled_leads_total{path="fallback"} / backstop_settled_leads_total
//	latency              backstop_lead_duration_seconds
//
// No label holds anything about a person: their values are the names of
// providers, classes, states and statuses.
package monitor
