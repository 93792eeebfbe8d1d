package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"backstop/ledger"
	"backstop/providers/sandbox"
)

// What the demo plays: leads arrive evenly during demoFeed, while the APIs go
// through the phases.
const (
	demoSeed     = 7
	demoReplicas = 3
	demoStorm    = 10 * time.Second
	demoOutage   = 20 * time.Second
	demoRecovery = 32 * time.Second
	demoFeed     = 44 * time.Second
	demoEnd      = 44 * time.Second
	demoCooldown = 5 * time.Second
)

// phase is what happens at a time of the demo.
func phase(elapsed time.Duration) string {
	switch {
	case elapsed < demoStorm:
		return "calm"
	case elapsed < demoOutage:
		return "rate-limit storm"
	case elapsed < demoRecovery:
		return "Clearbit is out"
	case elapsed < demoFeed:
		return "recovery"
	default:
		return "finishing"
	}
}

// demoRate is each provider's limit, in calls a second: what lets all leads pass
// in the time of the demo, but not much more.
func demoRate(leads int) int { return max(10, leads/25) }

// demoScript is how the APIs behave.
func demoScript(rate int) sandbox.Script {
	limit := sandbox.Limit{Rate: rate, Per: time.Second, Enforce: sandbox.EnforceDrop}
	return sandbox.Script{
		Seed:    demoSeed,
		Latency: sandbox.Latency{Min: 20 * time.Millisecond, Max: 120 * time.Millisecond},
		Limits:  map[string]sandbox.Limit{sandbox.Clearbit: limit, sandbox.Hunter: limit},
		Known:   map[string]float64{sandbox.Clearbit: 0.85, sandbox.Hunter: 0.8},
		Halves:  map[string]float64{sandbox.Clearbit: 0.1},
		Faults: []sandbox.Fault{
			{Provider: sandbox.Clearbit, From: demoOutage, To: demoRecovery, Status: 503},
			{Provider: sandbox.Clearbit, From: demoStorm, To: demoOutage, Share: 0.4, Status: 429, Wait: time.Second, Calls: 2},
			// Now and then something fails, as it does: too seldom to open the circuit.
			{Provider: sandbox.Clearbit, Share: 0.02, Calls: 1, Status: 500},
			{Provider: sandbox.Hunter, Share: 0.01, Calls: 1, Status: 500},
			{Provider: sandbox.Clearbit, Share: 0.04, Calls: 1, Status: 202},
		},
	}
}

// demoEnvironment configures the demo, by the way that every key can be set.
func demoEnvironment(s *sandbox.Server, dir, key string, rate int) []string {
	env := []string{
		"BACKSTOP_REDIS__URL=redis://127.0.0.1:0/0",
		"BACKSTOP_LEDGER__URL=sqlite://" + filepath.ToSlash(filepath.Join(dir, "ledger.db")),
		"BACKSTOP_LOG__LEVEL=error",
		"BACKSTOP_PENDING__FIRST=1s",
		"BACKSTOP_WORKER__CONCURRENCY=16",
	}
	for _, p := range []struct{ variable, name string }{{"CLEARBIT", sandbox.Clearbit}, {"HUNTER", sandbox.Hunter}} {
		prefix := "BACKSTOP_PROVIDERS__" + p.variable + "__"
		env = append(env,
			prefix+"BASE_URL="+s.URL(p.name),
			prefix+"API_KEY_FILE="+key,
			prefix+"TIMEOUT=2s",
			prefix+fmt.Sprintf("LIMITS=[{rate: %d, per: 1s}]", rate),
			prefix+"CIRCUIT__COOLDOWN="+demoCooldown.String(),
		)
	}
	return env
}

// fillDirectory puts every tenth person into the in-house directory.
func (d *demo) fillDirectory(ctx context.Context) error {
	var people []ledger.DirectoryEntry
	for i, l := range d.leads {
		if i%10 == 0 && l.Email != "" {
			people = append(people, ledger.DirectoryEntry{Email: l.Email, Profile: sandbox.Person(l.Email), AsOf: sandbox.AsOf(l.Email)})
		}
	}
	_, err := d.app.Ledger.PutEntries(ctx, people)
	return err
}
