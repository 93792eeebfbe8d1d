package testkit

import "testing"

func TestAServerThatLostTheEndOfItsFileHasWhatWasBefore(t *testing.T) {
	r := RedisServer(t, WithAOFEverySec(), WithDirective("auto-aof-rewrite-percentage", "0"))
	client := r.Client()
	set := func(key string) {
		t.Helper()
		if err := client.Set(t.Context(), key, "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("before")
	mark := r.MarkAOF()
	set("after")
	r.Kill()
	if r.LoseSince(mark) == 0 {
		t.Error("nothing was lost")
	}
	if r.LoseSince(mark) != 0 {
		t.Error("the same was lost twice")
	}
	r.Restart()
	for key, want := range map[string]int64{"before": 1, "after": 0} {
		if got := client.Exists(t.Context(), key).Val(); got != want {
			t.Errorf("%s the mark: got %d, want %d", key, got, want)
		}
	}
}
