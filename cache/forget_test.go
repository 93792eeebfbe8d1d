package cache_test

import (
	"errors"
	"testing"
	"time"

	"backstop/cache"
	"backstop/chain"
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
		claim.Fill(t.Context(), found)
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

func TestEverySpellingOfAPersonIsForgotten(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr)
		spellings := []string{"ann@acme.example", "ann+news@acme.example", "ann+a+b@acme.example"}
		for _, s := range spellings {
			r.learn(about(s), found)
		}
		r.learn(about("name:ann lee@acme.example"), found)
		r.learn(about("domain:acme.example"), found)
		if n, err := r.Forget(t.Context(), "ann+sales@acme.example"); err != nil || n != 3 {
			t.Errorf("Forget: %d, %v", n, err)
		}
		if !r.knows(about("domain:acme.example")) || !r.knows(about("name:ann lee@acme.example")) {
			t.Error("more was forgotten than the address")
		}
		if n, err := r.Forget(t.Context(), "name:ann lee@acme.example"); err != nil || n != 1 {
			t.Errorf("Forget by name: %d, %v", n, err)
		}
	})
}

func TestWhoHasAnotherSecretIsToldSo(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		worker := newReplica(t, addr)
		stranger := newReplica(t, addr, func(o *cache.Options) { o.Secret = []byte("another secret of some length") })
		without := newReplica(t, addr, func(o *cache.Options) { o.Secret = nil })
		if _, err := stranger.Forget(t.Context(), person); err != nil {
			t.Errorf("nothing is kept, and yet: %v", err)
		}
		worker.learn(about(person), found)
		for name, r := range map[string]*replica{"another": stranger, "none": without} {
			if _, err := r.Forget(t.Context(), person); !errors.Is(err, chain.ErrOtherSecret) {
				t.Errorf("with %s: %v", name, err)
			}
		}
		if _, err := worker.Forget(t.Context(), person); err != nil {
			t.Errorf("with the right one: %v", err)
		}
		// A secret that was replaced long ago keeps nothing any more.
		stranger.now = time.Now().Add(25 * time.Hour)
		if _, err := stranger.Forget(t.Context(), person); err != nil {
			t.Errorf("a day later: %v", err)
		}
	})
}
