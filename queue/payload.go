package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"backstop/lead"
)

// The task types and the queues that carry them. Each type has a queue of its
// own, so that a fallback never waits behind a backlog.
const (
	TypeEnrich    = "lead:enrich"
	TypeFallback  = "lead:fallback"
	QueueEnrich   = "enrich"
	QueueFallback = "fallback"
)

// Names are the queues.
var Names = []string{QueueEnrich, QueueFallback}

// A Payload is what a task carries. It is compact JSON, readable in asynqmon.
// The lead in it is for the reader's eyes: handlers use the one in the ledger.
type Payload struct {
	LeadID     string    `json:"lead_id"`
	RequestID  string    `json:"request_id"`
	Generation int       `json:"generation"`
	Lead       lead.Lead `json:"lead"`
}

// Run is the run of the lead that the task belongs to.
func (p Payload) Run() lead.Run { return lead.Run{LeadID: p.LeadID, Generation: p.Generation} }

// Encode writes the payload.
func (p Payload) Encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // "R&D" stays readable
	if err := enc.Encode(p); err != nil {
		return nil, fmt.Errorf("encode payload of lead %s: %w", p.LeadID, err)
	}
	return printable(bytes.TrimRight(b.Bytes(), "\n")), nil
}

// printable writes characters as JSON's escapes for which asynqmon would show
// "non-printable bytes" instead of the whole payload: soft hyphens and marks of
// the direction of writing, which names from spreadsheets hold.
func printable(b []byte) []byte {
	if !bytes.ContainsFunc(b, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		switch {
		case unicode.IsPrint(r):
			out.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

// DecodePayload reads what [Payload.Encode] wrote.
func DecodePayload(b []byte) (Payload, error) {
	var p Payload
	if err := json.Unmarshal(b, &p); err != nil {
		return Payload{}, errors.New("the payload is not the JSON of a lead task")
	}
	if p.LeadID == "" || p.Generation < 1 {
		return Payload{}, errors.New("the payload lacks lead_id or generation")
	}
	return p, nil
}

// EnrichID is the TaskID of a lead's enrichment: there is one for each run.
func EnrichID(leadID string, generation int) string {
	return fmt.Sprintf("enrich:%s:%d", leadID, generation)
}

// FallbackID is the TaskID of a lead's fallback.
func FallbackID(leadID string, generation int) string {
	return fmt.Sprintf("fallback:%s:%d", leadID, generation)
}

// ParseID is the inverse of [EnrichID] and [FallbackID].
func ParseID(id string) (run lead.Run, ok bool) {
	kind, rest, ok1 := strings.Cut(id, ":")
	leadID, generation, ok2 := strings.Cut(rest, ":")
	n, err := strconv.Atoi(generation)
	ok = ok1 && ok2 && err == nil && leadID != "" && (kind == "enrich" || kind == "fallback")
	return lead.Run{LeadID: leadID, Generation: n}, ok
}
