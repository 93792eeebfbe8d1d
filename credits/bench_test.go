package credits_test

import (
	"context"
	"testing"

	"backstop/testkit"
)

// A call costs two round trips: one before it, one after.
func BenchmarkCall(b *testing.B) {
	ctx := context.Background()
	r := newReplica(b, testkit.RedisServer(b).Addr(), &books{}, 1e9, 1e9)
	b.ReportAllocs()
	for b.Loop() {
		call, err := r.Reserve(ctx, api, 0.5)
		if err != nil {
			b.Fatal(err)
		}
		call.Commit(ctx, 0.5)
	}
}

// A refused call costs one.
func BenchmarkRefused(b *testing.B) {
	ctx := context.Background()
	r := newReplica(b, testkit.RedisServer(b).Addr(), &books{}, 1, 0)
	r.pay(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Reserve(ctx, api, 0.5); err == nil {
			b.Fatal("there is room")
		}
	}
}
