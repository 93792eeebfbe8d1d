package cache_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"backstop/cache"
	"backstop/chain"
	"backstop/lead"
	"backstop/providers"
)

func TestOnlyFinalAnswersAreKept(t *testing.T) {
	final := map[lead.Class]bool{lead.ClassOK: true, lead.ClassPartial: true, lead.ClassNoData: true, lead.ClassInvalidInput: true}
	everywhere(t, func(t *testing.T, addr string) {
		one, other := newReplica(t, addr), newReplica(t, addr)
		for _, class := range append([]lead.Class{""}, lead.Classes...) {
			q := about("someone." + string(class) + "@example.com")
			one.learn(q, providers.Answer{Class: class, Status: 222})
			if got := other.knows(q); got != final[class] {
				t.Errorf("%q is kept: %v", class, got)
			}
		}
	})
}

func TestAKeptAnswerIsTheAnswer(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		one, other := newReplica(t, addr), newReplica(t, addr)
		one.now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		other.now = one.now.Add(time.Hour)
		one.learn(about("a@example.com"), found)
		kept, _ := other.claim(about("a@example.com"))
		if kept == nil {
			t.Fatal("it is not kept")
		}
		if d := cmp.Diff(&chain.Entry{Answer: found, At: one.now}, kept); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}

func TestADifferentQuestionHasADifferentAnswer(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr, func(o *cache.Options) { o.Providers["clearbit"] = day })
		r.learn(about("a@example.com"), found)
		for name, change := range map[string]func(*chain.Lookup){
			"provider": func(q *chain.Lookup) { q.Provider = "clearbit" },
			"endpoint": func(q *chain.Lookup) { q.Endpoint = "email-verifier" },
			"subject":  func(q *chain.Lookup) { q.Subject = "b@example.com" },
			"variant":  func(q *chain.Lookup) { q.Variant = "http://127.0.0.1/hunter" },
			"cut":      func(q *chain.Lookup) { q.Subject, q.Variant = "a@example.comh", "ttps://api.example" },
		} {
			q := about("a@example.com")
			change(&q)
			if r.knows(q) {
				t.Errorf("another %s gets the same answer", name)
			}
		}
	})
}

func TestNothingIsKeptWithoutASubjectAnAgeOrAnEntry(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr, ages(0, 0, 0))
		for name, q := range map[string]chain.Lookup{
			"no subject": about(""), "no age": about("a@example.com"),
			"no entry": {Key: chain.Key{Provider: "directory", Endpoint: "look-up", Subject: "a@example.com"}},
		} {
			r.learn(q, found)
			if r.knows(q) {
				t.Errorf("%s: it is kept", name)
			}
		}
		if n := client(t, addr).DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("there are %d keys", n)
		}
	})
}

func TestAnAnswerIsUsedUntilItsAge(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name   string
		answer providers.Answer
		after  time.Duration
		read   func(*cache.Options) // the ages when it is read
		want   bool
	}{
		{"data, just before its age", found, time.Hour - 1, nil, true},
		{"data, at its age", found, time.Hour, nil, false},
		{"a negative, just before its age", unknown, time.Minute - 1, nil, true},
		{"a negative, at its age", unknown, time.Minute, nil, false},
		{"data of which the age was made shorter", found, 10 * time.Minute, ages(5*time.Minute, time.Minute, 0), false},
		{"data of which the age was made nothing", found, 0, ages(0, time.Minute, 0), false},
		{"data of a clock that goes before", found, -time.Minute, nil, true},
	}
	everywhere(t, func(t *testing.T, addr string) {
		for i, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				q := about(string(rune('a'+i)) + "@example.com")
				writer := newReplica(t, addr, ages(time.Hour, time.Minute, 0))
				writer.now = begin
				writer.learn(q, tt.answer)
				set := tt.read
				if set == nil {
					set = ages(time.Hour, time.Minute, 0)
				}
				reader := newReplica(t, addr, set)
				reader.now = begin.Add(tt.after)
				if got := reader.knows(q); got != tt.want {
					t.Errorf("it is used: %v", got)
				}
			})
		}
	})
}

func TestRedisForgetsByItself(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr, ages(time.Hour, time.Minute, 0))
		q, verifier := about("a@example.com"), about("a@example.com")
		verifier.Endpoint = "email-verifier"
		r.learn(q, found)
		r.learn(verifier, unknown)
		left := map[time.Duration]int{}
		for _, key := range keysOf(t, client(t, addr)) {
			ttl := client(t, addr).PTTL(t.Context(), key).Val()
			left[ttl.Round(time.Minute)]++
		}
		// The list of the person's answers lives as long as the one that lives longest.
		if d := cmp.Diff(map[time.Duration]int{time.Hour: 2, time.Minute: 1}, left); d != "" {
			t.Errorf("what the keys have left (-want +got)\n%s", d)
		}
	})
}

func TestAReplayUsesDataButNoNegativeFromBefore(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	everywhere(t, func(t *testing.T, addr string) {
		first, replay := newReplica(t, addr), newReplica(t, addr)
		first.now, replay.now = begin, begin.Add(time.Hour)
		positive, negative := about("known@example.com"), about("unknown@example.com")
		first.learn(positive, found)
		first.learn(negative, unknown)
		positive.NegativesSince, negative.NegativesSince = replay.now, replay.now
		if !replay.knows(positive) {
			t.Error("data is bought again")
		}
		replay.learn(negative, unknown)
		if !replay.knows(negative) {
			t.Error("the replay's own negative is not used")
		}
	})
}

// keysOf lists all keys but those of the secret and of the marks.
func keysOf(tb testing.TB, rdb *redis.Client) (keys []string) {
	tb.Helper()
	all, err := rdb.Keys(tb.Context(), "*").Result()
	if err != nil {
		tb.Fatal(err)
	}
	for _, key := range all {
		if key != "backstop:answers:secret" && key != "backstop:answers:marks" {
			keys = append(keys, key)
		}
	}
	return keys
}

// What one lead has ordered, another one fetches.
func TestATicketIsSharedWithThoseWhoHaveNone(t *testing.T) {
	ordered := providers.Answer{Class: lead.ClassPending, Status: 200, Ticket: "t-1"}
	everywhere(t, func(t *testing.T, addr string) {
		one, other := newReplica(t, addr), newReplica(t, addr)
		q := about("a@example.com")
		one.learn(q, ordered)
		kept, _ := other.claim(q)
		if kept == nil || kept.Ticket != "t-1" || kept.Class != lead.ClassPending {
			t.Fatalf("the other one gets %+v", kept)
		}
		mine := q
		mine.Ticket = "t-1"
		if other.knows(mine) {
			t.Error("who has the ticket waits for itself")
		}
		other.learn(mine, found)
		if !one.knows(q) || !one.knows(mine) {
			t.Error("what was fetched is not shared")
		}
	})
}

func TestAPendingAnswerWithoutATicketIsNotKept(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr)
		r.learn(about("a@example.com"), providers.Answer{Class: lead.ClassPending})
		if r.knows(about("a@example.com")) {
			t.Error("it is kept")
		}
	})
}
