package cache_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"backstop/cache"
	"backstop/chain"
	"backstop/testkit"
)

const person = "ann.example-lee@secretive-firm.example"

// shown is everything that Redis has, names and contents.
func shown(tb testing.TB, rdb *redis.Client) []byte {
	tb.Helper()
	var all bytes.Buffer
	for _, key := range keysOf(tb, rdb) {
		all.WriteString(key + "\n")
		switch kind := rdb.Type(tb.Context(), key).Val(); kind {
		case "string":
			all.WriteString(rdb.Get(tb.Context(), key).Val() + "\n")
		case "set":
			all.WriteString(strings.Join(rdb.SMembers(tb.Context(), key).Val(), "\n") + "\n")
		default:
			tb.Errorf("%s is a %s", key, kind)
		}
	}
	return all.Bytes()
}

func TestRedisHoldsNothingOfAPersonInTheClear(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r, rdb := newReplica(t, addr), client(t, addr)
		r.learn(about(person), found)
		_, under := r.claim(about(person + ".net")) // under way, with its lock
		all := bytes.ToLower(shown(t, rdb))
		under.Release(t.Context())
		if n := bytes.Count(all, []byte("backstop:answers:{")); n != 4 { // answer, list, its entry, lock
			t.Fatalf("there are %d names in %q", n, all)
		}
		for _, part := range []string{"example", "secretive", "sealing", "person", "partial", "status", api, "combined", "no company"} {
			if bytes.Contains(all, []byte(part)) {
				t.Errorf("%q can be read", part)
			}
		}
	})
}

func TestTheSameAnswerNeverLooksTheSame(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r, rdb := newReplica(t, addr), client(t, addr)
		r.learn(about(person), found)
		before := shown(t, rdb)
		if n, err := r.Forget(t.Context(), person); err != nil || n != 1 {
			t.Fatalf("Forget: %d, %v", n, err)
		}
		if err := rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		r.learn(about(person), found)
		if bytes.Equal(before, shown(t, rdb)) {
			t.Error("the encryption repeats itself")
		}
	})
}

func TestAnotherSecretIsAMiss(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r, rdb := newReplica(t, addr), client(t, addr)
		other := newReplica(t, addr, func(o *cache.Options) { o.Secret = []byte("another secret of some length") })
		r.learn(about(person), found)
		value := answerIn(t, rdb)
		if other.knows(about(person)) {
			t.Error("it is found")
		}
		// Also when somebody puts the value where the other one looks.
		other.learn(about(person), unknown)
		for _, key := range keysOf(t, rdb) {
			if rdb.Type(t.Context(), key).Val() == "string" {
				rdb.Set(t.Context(), key, value, 0)
			}
		}
		if other.knows(about(person)) {
			t.Error("it can be opened")
		}
		// A value moved to another name of the same secret cannot be opened either.
		r.learn(about("b@example.com"), unknown)
		for _, key := range keysOf(t, rdb) {
			if rdb.Type(t.Context(), key).Val() == "string" {
				rdb.Set(t.Context(), key, value, 0)
			}
		}
		if r.knows(about("b@example.com")) {
			t.Error("one person's answer is used for another")
		}
	})
}

func TestADamagedValueIsAMissAndReplaced(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r, rdb := newReplica(t, addr), client(t, addr)
		for name, damage := range map[string]func(string) string{
			"empty":         func(string) string { return "" },
			"cut short":     func(s string) string { return s[:len(s)-1] },
			"only a form":   func(s string) string { return s[:1] },
			"another form":  func(s string) string { return "\x02" + s[1:] },
			"one bit wrong": func(s string) string { return s[:20] + string(s[20]^1) + s[21:] },
			"other text":    func(string) string { return `{"class":"ok"}` },
		} {
			q := about(strings.ReplaceAll(name, " ", ".") + "@example.com")
			r.learn(q, found)
			key := newest(t, rdb, r, q)
			rdb.Set(t.Context(), key, damage(rdb.Get(t.Context(), key).Val()), 0)
			if r.knows(q) {
				t.Errorf("%s: it is used", name)
			}
			r.learn(q, found)
			if !r.knows(q) {
				t.Errorf("%s: it is not replaced", name)
			}
		}
	})
}

// newest is the name of q's answer: the one that goes when the person is
// forgotten and comes when the answer is kept again.
func newest(tb testing.TB, rdb *redis.Client, r *replica, q chain.Lookup) string {
	tb.Helper()
	for _, key := range keysOf(tb, rdb) {
		if rdb.Type(tb.Context(), key).Val() != "string" {
			continue
		}
		before := rdb.Get(tb.Context(), key).Val()
		rdb.Del(tb.Context(), key)
		missed := !r.knows(q)
		rdb.Set(tb.Context(), key, before, 0)
		if missed {
			return key
		}
	}
	tb.Fatal("no key is that of the answer")
	return ""
}

// answerIn is the only answer that is kept.
func answerIn(tb testing.TB, rdb *redis.Client) string {
	tb.Helper()
	for _, key := range keysOf(tb, rdb) {
		if rdb.Type(tb.Context(), key).Val() == "string" {
			return rdb.Get(tb.Context(), key).Val()
		}
	}
	tb.Fatal("there is no answer")
	return ""
}

func noSecret(o *cache.Options) { o.Secret = nil }

func TestWithoutASecretTheReplicasAgreeOnOne(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		one, other := newReplica(t, addr, noSecret), newReplica(t, addr, noSecret)
		one.learn(about(person), found)
		if !other.knows(about(person)) {
			t.Error("the other replica does not find it")
		}
		if bytes.Contains(shown(t, client(t, addr)), []byte("example")) {
			t.Error("it can be read")
		}
	})
}

func TestReplicasAgreeAgainAfterRedisLostTheSecret(t *testing.T) {
	server := testkit.RedisServer(t)
	old := newReplica(t, server.Addr(), noSecret)
	old.learn(about("a@example.com"), found)
	server.FlushAll()
	young := newReplica(t, server.Addr(), noSecret)
	young.learn(about("b@example.com"), found)
	if old.knows(about("b@example.com")) {
		t.Fatal("the two have the same secret without having agreed")
	}
	old.Recheck()
	if !old.knows(about("b@example.com")) {
		t.Error("they do not agree after the secret was read again")
	}
	// And with nobody who made another, it is put back.
	server.FlushAll()
	old.Recheck()
	old.learn(about("c@example.com"), found)
	if again := newReplica(t, server.Addr(), noSecret); !again.knows(about("c@example.com")) {
		t.Error("the secret was not put back")
	}
}

func TestADamagedSecretCostsOnlyTheSharing(t *testing.T) {
	server := testkit.RedisServer(t)
	rdb := server.Client()
	rdb.Set(t.Context(), "backstop:answers:secret", "rubbish", 0)
	r := newReplica(t, server.Addr(), noSecret)
	r.learn(about(person), found)
	if r.notKept.Load() != 1 || rdb.Get(t.Context(), "backstop:answers:secret").Val() != "rubbish" {
		t.Errorf("%d answers were not kept", r.notKept.Load())
	}
}

func FuzzOpenTakesOnlyWhatWasSealed(f *testing.F) {
	k, err := cache.NewSealer(secret)
	if err != nil {
		f.Fatal(err)
	}
	good, err := k.Seal("name", chain.Entry{Answer: found})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{nil, {1}, {1, 2, 3}, good, good[:len(good)-1], append([]byte{0}, good...)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		kept, err := k.Open("name", value)
		if err == nil && !cmp.Equal(kept, chain.Entry{Answer: found}) { // else somebody else sealed it
			t.Errorf("%x gives %+v", value, kept)
		}
		if err != nil && bytes.Equal(value, good) {
			t.Errorf("what was sealed does not open: %v", err)
		}
		if _, err := k.Open("another name", value); err == nil {
			t.Errorf("%x opens under another name", value)
		}
	})
}
