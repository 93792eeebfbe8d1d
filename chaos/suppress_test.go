package chaos

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"backstop/lead"
	"backstop/ledger"
	"backstop/testkit"
)

// refusing is the kind of lead whose person asked a provider not to be processed.
const refusing = "refuse"

func every10thRefuses(i int) string {
	if i%10 == 4 {
		return refusing
	}
	return "fine"
}

// A worker may die between any two of the steps in which a person is erased: the
// outcome, the tasks that name them, the kept answers. Everybody who refuses has
// another lead, whose task stands in the archive. In the end nothing of them is
// anywhere.
func TestWorkersKilledWhilePeopleAreErasedLeaveNothingOfThem(t *testing.T) {
	leads := size(6000, 300)
	play(t, scenario{
		Name: "kill -9 while people are erased", Seed: 27, Faults: size(60, 5),
		Leads: leads, Replicas: 3, Slots: 6, Kind: every10thRefuses, Env: []string{"BACKSTOP_RETRY__MAX=0"},
		Script: fmt.Sprintf(`
latency: {min: 100ms, max: 300ms}
faults:
  - {match: "%[1]s.*+dead", status: 503}
  - {provider: clearbit, match: "%[1]s.*", status: 404}
  - {provider: hunter, match: "%[1]s.*", status: 451}
`, refusing),
		Before: func(r *run) { r.archive(leads) },
		Inject: func(r *run) {
			workers := r.All()
			r.each(1, 300*time.Millisecond, 1200*time.Millisecond, func() {
				i := r.rand.IntN(len(workers))
				workers[i].Kill()
				workers[i] = r.Workers(1)[0]
			})
			r.checkErased(leads)
		},
	})
}

// address is that of the i-th lead, who refuses.
func address(i int, tag string) string {
	return fmt.Sprintf("%s.%05d%s@firm%03d.example", refusing, i, tag, i%500)
}

// archive brings a lead of each person who will refuse into the archive.
func (r *run) archive(leads int) {
	r.t.Helper()
	var csv strings.Builder
	csv.WriteString("Record ID,Email\n")
	for i := 4; i < leads; i += 10 {
		fmt.Fprintf(&csv, "dead-%d,%s\n", i, address(i, "+dead"))
	}
	r.Workers(1)
	r.accepted += int(r.Enqueue("dead.csv", csv.String()).Accepted)
	testkit.Eventually(r.t, settleWithin, "all are partial", func() bool {
		c, ok := r.counts()
		return ok && c.Settled[lead.StatusPartial] == int64(leads/10)
	})
	if named(r.t, r.Redis.Client()) == "" {
		r.t.Error("the archive names nobody")
	}
}

// checkErased waits until nobody who refused is named in Redis or in the ledger.
func (r *run) checkErased(leads int) {
	r.t.Helper()
	want := 2 * leads / 10
	testkit.Eventually(r.t, settleWithin, "all who refused are suppressed", func() bool {
		c, ok := r.counts()
		return ok && c.Live == 0
	})
	rdb := r.Redis.Client()
	left := ""
	testkit.Eventually(r.t, settleWithin, "Redis names none of them", func() bool {
		left = named(r.t, rdb)
		return left == ""
	})
	if left != "" {
		r.t.Errorf("Redis still names somebody in %s", left)
	}
	c, _ := r.counts()
	if got := int(c.Settled[lead.StatusSuppressed]); got != want {
		r.t.Errorf("%d leads are suppressed, want %d", got, want)
	}
	for i := 4; i < leads; i += 10 {
		if _, err := r.books.Find(r.t.Context(), address(i, "")); !errors.Is(err, ledger.ErrNotFound) {
			r.t.Fatalf("the ledger still knows lead %d by its address: %v", i, err)
		}
	}
}

// named is the key of a task that names somebody who refused, "" if there is none.
func named(t *testing.T, rdb *redis.Client) string {
	t.Helper()
	ctx := t.Context()
	keys := rdb.Scan(ctx, 0, "asynq:*:t:*", 1000).Iterator()
	for keys.Next(ctx) {
		if strings.Contains(rdb.HGet(ctx, keys.Val(), "msg").Val(), refusing+".") {
			return keys.Val()
		}
	}
	if err := keys.Err(); err != nil {
		t.Fatal(err)
	}
	return ""
}
