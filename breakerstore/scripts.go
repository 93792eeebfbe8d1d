package breakerstore

import (
	"context"
	_ "embed" // for the scripts
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// The scripts. Each but beat begins with lib.
var (
	//go:embed lua/lib.lua
	lib string
	//go:embed lua/read.lua
	readLua string
	//go:embed lua/enter.lua
	enterLua string
	//go:embed lua/late.lua
	lateLua string
	//go:embed lua/report.lua
	reportLua string
	//go:embed lua/count.lua
	countLua string
	//go:embed lua/hold.lua
	holdLua string
	//go:embed lua/switch.lua
	switchLua string
	//go:embed lua/restore.lua
	restoreLua string
	//go:embed lua/spend.lua
	spendLua string
	//go:embed lua/beat.lua
	beatLua string

	readScript    = redis.NewScript(lib + readLua)
	enterScript   = redis.NewScript(lib + enterLua)
	lateScript    = redis.NewScript(lib + lateLua)
	reportScript  = redis.NewScript(lib + reportLua)
	countScript   = redis.NewScript(lib + countLua)
	holdScript    = redis.NewScript(lib + holdLua)
	switchScript  = redis.NewScript(lib + switchLua)
	restoreScript = redis.NewScript(lib + restoreLua)
	spendScript   = redis.NewScript(lib + spendLua)
	beatScript    = redis.NewScript(beatLua)
)

var errReply = errors.New("reply of an unknown form")

// run runs a script on a provider's keys. go-redis sends the script itself when
// the server does not know it, as after SCRIPT FLUSH.
func (g *Gate) run(ctx context.Context, s *redis.Script, p *provider, args ...any) ([]any, error) {
	reply, err := s.Run(ctx, g.rdb, p.keys, p.args(args)...).Slice()
	if err != nil {
		return nil, err
	}
	if len(reply) == 0 {
		return nil, errReply
	}
	return reply, nil
}

// integer is the i-th value of a reply.
func integer(reply []any, i int) (int64, error) {
	if i < len(reply) {
		if n, ok := reply[i].(int64); ok {
			return n, nil
		}
	}
	return 0, fmt.Errorf("value %d: %w", i, errReply)
}

// circuitOf is the circuit that a reply ends with.
func circuitOf(reply []any) (snapshot, error) {
	if text, ok := reply[len(reply)-1].(string); ok {
		return parseSnapshot(text)
	}
	return snapshot{}, errReply
}
