package answers

import (
	"context"
	_ "embed" // for the scripts
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/claim.lua
	claimLua string
	//go:embed lua/keep.lua
	keepLua string
	//go:embed lua/release.lua
	releaseLua string
	//go:embed lua/forget.lua
	forgetLua string

	claimScript   = redis.NewScript(claimLua)
	keepScript    = redis.NewScript(keepLua)
	releaseScript = redis.NewScript(releaseLua)
	forgetScript  = redis.NewScript(forgetLua)
)

var errReply = errors.New("reply of an unknown form")

// take reads the answer or takes the lock. value is nil when there is no answer.
func (c *claim) take(ctx context.Context, anyway bool) (value []byte, claimed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	force := 0
	if anyway {
		force = 1
	}
	reply, err := claimScript.Run(ctx, c.rdb, []string{c.names.answer, c.names.lock}, c.token, millis(c.ages.Lease), force).Slice()
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
func (c *claim) put(ctx context.Context, value []byte, age time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	if err := c.leaveMark(ctx, c.keys); err != nil {
		return err
	}
	keys := []string{c.names.answer, c.names.lock, c.names.all, c.names.gone}
	if err := keepScript.Run(ctx, c.rdb, keys, c.token, value, millis(age)).Err(); err != nil {
		return fmt.Errorf("keep an answer: %w", err)
	}
	return nil
}

// release gives the lock back.
func (c *claim) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	if err := releaseScript.Run(ctx, c.rdb, []string{c.names.lock}, c.token).Err(); err != nil {
		return fmt.Errorf("give a lock back: %w", err)
	}
	return nil
}

// millis rounds up: what is kept for less than a millisecond would be an error.
func millis(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }
