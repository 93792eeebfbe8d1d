package cache_test

import (
	"context"
	"strconv"
	"testing"

	"backstop/testkit"
)

// A hit is one script; a miss is two and a call, which takes no time here.
func BenchmarkClaim(b *testing.B) {
	server := testkit.RedisServer(b)
	r := newReplica(b, server.Addr())
	ctx := context.Background()
	b.Run("hit", func(b *testing.B) {
		server.FlushAll()
		r.learn(about(person), found)
		b.ReportAllocs()
		for b.Loop() {
			if kept, _, err := r.GetOrLease(ctx, about(person)); err != nil || kept == nil {
				b.Fatalf("%v, %v", kept, err)
			}
		}
	})
	b.Run("miss", func(b *testing.B) {
		n := 0
		b.ReportAllocs()
		for b.Loop() {
			n++
			_, claim, err := r.GetOrLease(ctx, about("m"+strconv.Itoa(n)+"@example.com"))
			if err != nil || claim == nil {
				b.Fatalf("%v, %v", claim, err)
			}
			claim.Fill(ctx, found)
		}
	})
}
