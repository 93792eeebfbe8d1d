package credits

import (
	"context"
	_ "embed" // for the scripts
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Each script begins with lib.
var (
	//go:embed lua/lib.lua
	lib string
	//go:embed lua/reserve.lua
	reserveLua string
	//go:embed lua/commit.lua
	commitLua string

	reserveScript = redis.NewScript(lib + reserveLua)
	commitScript  = redis.NewScript(lib + commitLua)
)

var errReply = errors.New("reply of an unknown form")

// What reserve answers beside the number of a limit.
const (
	reserved = 0
	missing  = -1
)

// reserve runs the script. known is nil when the ledger was not read yet; fresh
// says that it was read for this call. It takes along what Redis was not told.
func (s *Store) reserve(ctx context.Context, r *reservation, known *reading, fresh bool) (answer int, err error) {
	p := r.provider
	args := []any{r.id, int64(r.price), fresh}
	for i, l := range p.limits {
		var floor micros
		if known != nil {
			floor = known.sums[i]
		}
		lives := spanOf(l.per, r.at).ends.Sub(r.at) + keptOn
		args = append(args, int64(l.micros), int64(floor), lives.Milliseconds())
	}
	owed := p.owed()
	for _, o := range owed {
		args = append(args, o.id, int64(o.spent))
	}
	r.told = true
	ctx, cancel := context.WithTimeout(ctx, s.step)
	defer cancel()
	answer, err = reserveScript.Run(ctx, s.rdb, r.keys, args...).Int()
	if err == nil && (answer < missing || answer > len(p.limits) || answer == missing && fresh) {
		err = errReply
	}
	if err != nil {
		p.owe(owed...)
		return 0, fmt.Errorf("reserve credits: %w", err)
	}
	r.told = answer == reserved
	return answer, nil
}

// commit runs the script.
func (s *Store) commit(ctx context.Context, r *reservation, spent micros) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	if err := commitScript.Run(ctx, s.rdb, r.keys, r.id, int64(spent)).Err(); err != nil {
		return fmt.Errorf("commit credits: %w", err)
	}
	return nil
}
