package queue

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"backstop/clock"
)

//go:embed promote.lua
var promoteSource string

var promoteScript = redis.NewScript(promoteSource)

const (
	promoteEvery = 100 * time.Millisecond
	promoteBatch = 100
)

// Promote puts the enrichments whose retry is due at the head of the line, and
// returns how many. asynq puts them at its end, where behind the backlog of a
// large import a retry "in 1 s" would come after minutes, and the lead's budget
// would be over.
func (q *Queue) Promote(ctx context.Context) (int, error) {
	for total := 0; ; {
		n, err := promoteScript.Run(ctx, q.rdb,
			[]string{queueKey(QueueEnrich, "retry"), queueKey(QueueEnrich, "pending")},
			taskKey(QueueEnrich, ""), promoteBatch).Int()
		if err != nil {
			return total, fmt.Errorf("move due retries to the head of the queue: %w", err)
		}
		if total += n; n < promoteBatch {
			return total, nil
		}
	}
}

// KeepPromoting calls Promote until ctx ends. asynq's own forwarder stands in while
// it fails, more slowly.
func (q *Queue) KeepPromoting(ctx context.Context, log zerolog.Logger) {
	failing := false
	clock.Every(ctx, promoteEvery, func() {
		_, err := q.Promote(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			log.Warn().Err(err).Str("event", "promote").Msg("retries may be late")
		}
		failing = err != nil
	})
}
