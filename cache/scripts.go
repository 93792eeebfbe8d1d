package cache

import (
	"context"
	_ "embed" // for the scripts
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/lease.lua
	leaseLua string
	//go:embed lua/keep.lua
	keepLua string
	//go:embed lua/release.lua
	releaseLua string
	//go:embed lua/forget.lua
	forgetLua string

	leaseScript   = redis.NewScript(leaseLua)
	keepScript    = redis.NewScript(keepLua)
	releaseScript = redis.NewScript(releaseLua)
	forgetScript  = redis.NewScript(forgetLua)
)

var errReply = errors.New("reply of an unknown form")

// take reads the answer or takes the lock. value is nil when there is no answer.
func (l *lease) take(ctx context.Context, anyway bool) (value []byte, leased bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.Timeout)
	defer cancel()
	force := 0
	if anyway {
		force = 1
	}
	reply, err := leaseScript.Run(ctx, l.rdb, []string{l.names.answer, l.names.lock}, l.token, millis(l.ages.Lease), force).Slice()
	if err != nil {
		return nil, false, fmt.Errorf("look for a kept answer: %w", err)
	}
	if len(reply) != 2 {
		return nil, false, errReply
	}
	if text, ok := reply[0].(string); ok {
		value = []byte(text)
	}
	n, ok := reply[1].(int64)
	if !ok {
		return nil, false, errReply
	}
	return value, n == 1, nil
}

// put keeps a sealed answer and gives the lock back. A person who was forgotten
// meanwhile is no error.
func (l *lease) put(ctx context.Context, value []byte, age time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.Timeout)
	defer cancel()
	if err := l.leaveMark(ctx, l.keys); err != nil {
		return err
	}
	keys := []string{l.names.answer, l.names.lock, l.names.all, l.names.gone}
	if err := keepScript.Run(ctx, l.rdb, keys, l.token, value, millis(age)).Err(); err != nil {
		return fmt.Errorf("keep an answer: %w", err)
	}
	return nil
}

// release gives the lock back.
func (l *lease) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.Timeout)
	defer cancel()
	if err := releaseScript.Run(ctx, l.rdb, []string{l.names.lock}, l.token).Err(); err != nil {
		return fmt.Errorf("give a lock back: %w", err)
	}
	return nil
}

// millis rounds up: what is kept for less than a millisecond would be an error.
func millis(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }
