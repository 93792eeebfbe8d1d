package sandbox_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/providers/sandbox"
)

func TestScripts(t *testing.T) {
	yaml := `
seed: 7
latency: {min: 10ms, max: 40ms}
keys: {clearbit: k}
limits:
  clearbit: {rate: 10, per: 1s, enforce: drop}
known: {hunter: 0.9}
faults:
  - {provider: clearbit, from: 5s, to: 20s, status: 503, wait: 2s}
  - {match: "*+503@*", status: 503, body: ""}
`
	s, err := sandbox.ParseScript([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	empty := ""
	want := sandbox.Script{
		Seed: 7, Latency: sandbox.Latency{Min: 10 * time.Millisecond, Max: 40 * time.Millisecond},
		Keys: map[string]string{"clearbit": "k"}, Known: map[string]float64{"hunter": 0.9},
		Limits: map[string]sandbox.Limit{"clearbit": {Rate: 10, Per: time.Second, Enforce: sandbox.EnforceDrop}},
		Faults: []sandbox.Fault{
			{Provider: "clearbit", From: 5 * time.Second, To: 20 * time.Second, Status: 503, Wait: 2 * time.Second},
			{Match: "*+503@*", Status: 503, Body: &empty},
		},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := sandbox.ParseScript(text); err != nil || !cmp.Equal(again, want) {
		t.Errorf("written and read again it is %+v, %v", again, err)
	}
	inJSON := `{"seed":7,"limits":{"hunter":{"rate":10,"per":"1s"}},"faults":[{"match":"*+503@*","status":503}]}`
	if s, err := sandbox.ParseScript([]byte(inJSON)); err != nil || s.Limits["hunter"].Per != time.Second || s.Faults[0].Status != 503 {
		t.Errorf("JSON is read as %+v, %v", s, err)
	}
	if s, err := sandbox.ParseScript(nil); err != nil || !cmp.Equal(s, sandbox.Script{}) {
		t.Errorf("an empty script is %+v, %v", s, err)
	}
}

func TestScriptsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"an unknown key":              `seeds: 7`,
		"an unknown key of a fault":   `faults: [{statuss: 503}]`,
		"an unknown key in JSON":      `{"seed":7,"x":1}`,
		"an unknown provider":         `known: {nosuch: 1}`,
		"a fault of another provider": `faults: [{provider: nosuch, status: 503}]`,
		"a limit without a rate":      `limits: {hunter: {per: 1s}}`,
		"an unknown enforcement":      `limits: {hunter: {rate: 1, per: 1s, enforce: maybe}}`,
		"a share over 1":              `known: {hunter: 1.5}`,
		"no share":                    `halves: {hunter: .nan}`,
		"a fault that does nothing":   `faults: [{share: 0.5}]`,
		"a broken glob":               `faults: [{match: "[", status: 503}]`,
		"an unknown kind":             `faults: [{kind: explode}]`,
		"slow without a delay":        `faults: [{kind: slow}]`,
		"an end before the beginning": `faults: [{from: 2s, to: 1s, status: 503}]`,
		"a latency that goes down":    `latency: {min: 2s, max: 1s}`,
		"two documents":               "seed: 1\n---\nseed: 2\n",
		"not YAML":                    "\t",
	} {
		if s, err := sandbox.ParseScript([]byte(text)); err == nil {
			t.Errorf("%s was read as %+v", name, s)
		}
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add(`{"seed":7,"faults":[{"status":503,"share":0.5,"match":"*"}]}`)
	f.Add("limits:\n  clearbit: {rate: 10, per: 1s, enforce: drop}\n")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := sandbox.ParseScript([]byte(text))
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Errorf("%q was read and is not valid: %v", text, err)
		}
	})
}
