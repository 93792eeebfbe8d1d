package testkit

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// An AOFMark is how much of a server's append-only file there was at a moment.
type AOFMark map[string]int64 // size by path

// MarkAOF notes how much is in the append-only file now. The server must have been
// started with "auto-aof-rewrite-percentage 0", or the mark may be of a file that
// is not used any more.
func (r *RedisProcess) MarkAOF() AOFMark {
	r.tb.Helper()
	mark := AOFMark{}
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".aof") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mark[path] = info.Size()
		return nil
	})
	if err != nil {
		r.tb.Fatalf("look at the append-only file: %v", err)
	}
	return mark
}

// LoseSince takes from the append-only file of a killed server what came after the
// mark, as the end of the machine does with what was not written through yet. It
// returns how many bytes that were.
func (r *RedisProcess) LoseSince(mark AOFMark) int64 {
	r.tb.Helper()
	lost := int64(0)
	for path, size := range r.MarkAOF() {
		if size <= mark[path] {
			continue
		}
		if err := os.Truncate(path, mark[path]); err != nil {
			r.tb.Fatalf("shorten the append-only file: %v", err)
		}
		lost += size - mark[path]
	}
	return lost
}
