package breakerstore

// The scripts, and running them.

import (
	"context"
	_ "embed" // for the scripts
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// The scripts. Each but heartbeat begins with lib.
var (
	//go:embed lua/lib.lua
	lib string
	//go:embed lua/read.lua
	readLua string
	//go:embed lua/acquire.lua
	acquireLua string
	//go:embed lua/move.lua
	moveLua string
	//go:embed lua/report.lua
	reportLua string
	//go:embed lua/count.lua
	countLua string
	//go:embed lua/throttle.lua
	throttleLua string
	//go:embed lua/switch.lua
	switchLua string
	//go:embed lua/restore.lua
	restoreLua string
	//go:embed lua/spend.lua
	spendLua string
	//go:embed lua/heartbeat.lua
	heartbeatLua string

	readScript      = redis.NewScript(lib + readLua)
	acquireScript   = redis.NewScript(lib + acquireLua)
	moveScript      = redis.NewScript(lib + moveLua)
	reportScript    = redis.NewScript(lib + reportLua)
	countScript     = redis.NewScript(lib + countLua)
	throttleScript  = redis.NewScript(lib + throttleLua)
	switchScript    = redis.NewScript(lib + switchLua)
	restoreScript   = redis.NewScript(lib + restoreLua)
	spendScript     = redis.NewScript(lib + spendLua)
	heartbeatScript = redis.NewScript(heartbeatLua)
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

// args puts the arguments that every script gets before more.
func (p *provider) args(more []any) []any {
	return append(append(make([]any, 0, len(p.head)+len(more)), p.head...), more...)
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
