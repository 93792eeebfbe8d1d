package answers_test

import (
	"testing"

	"backstop/lead"
	"backstop/providers"
)

func TestAForgottenPersonLeavesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		one, other, rdb := newReplica(t, addr), newReplica(t, addr), client(t, addr)
		verifier := about(person)
		verifier.Endpoint = "email-verifier"
		one.learn(about(person), found)
		one.learn(verifier, unknown)
		one.learn(about("b@example.com"), found)
		if n, err := other.Forget(t.Context(), person); err != nil || n != 2 {
			t.Fatalf("Forget: %d, %v", n, err)
		}
		if one.knows(about(person)) || one.knows(verifier) {
			t.Error("something is left")
		}
		if !one.knows(about("b@example.com")) {
			t.Error("somebody else was forgotten, too")
		}
		if n := len(keysOf(t, rdb)); n != 3 { // the other's two, and the mark
			t.Errorf("there are %d keys", n)
		}
		if n, err := other.Forget(t.Context(), "nobody@example.com"); err != nil || n != 0 {
			t.Errorf("Forget of nobody: %d, %v", n, err)
		}
	})
}

func TestACallUnderWayIsNotKeptOnceThePersonIsForgotten(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		one, other := newReplica(t, addr), newReplica(t, addr)
		_, claim := one.claim(about(person))
		if _, err := other.Forget(t.Context(), person); err != nil {
			t.Fatal(err)
		}
		claim.End(t.Context(), found)
		if other.knows(about(person)) {
			t.Error("it is kept")
		}
	})
}

func TestWhoAskedNotToBeProcessedIsForgotten(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr)
		verifier := about(person)
		verifier.Endpoint = "email-verifier"
		r.learn(about(person), found)
		r.learn(verifier, providers.Answer{Class: lead.ClassForbidden, Status: 451})
		if r.knows(about(person)) || r.knows(verifier) {
			t.Error("something is left")
		}
	})
}
