package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"backstop/intake"
)

// progress shows how far an import is: a bar on a terminal, nothing elsewhere.
type progress struct {
	name string
	bars *mpb.Progress
	bar  *mpb.Bar
	last atomic.Pointer[intake.Summary] // the bar is drawn by a goroutine of its own
}

// newProgress begins to show the import of a file of the given size; 0 is unknown.
func newProgress(w io.Writer, name string, size int64) *progress {
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return newBar(w, name, size)
	}
	return &progress{}
}

func newBar(w io.Writer, name string, size int64, o ...mpb.ContainerOption) *progress {
	p := &progress{name: name, bars: mpb.New(append(o, mpb.WithOutput(w), mpb.WithWidth(40))...)}
	p.last.Store(&intake.Summary{})
	p.bar = p.bars.AddBar(size,
		mpb.PrependDecorators(decor.Name(name+" ")),
		mpb.AppendDecorators(decor.Percentage(), decor.Any(func(decor.Statistics) string {
			s := p.last.Load()
			return fmt.Sprintf("  %d accepted, %d duplicate, %d rejected", s.Accepted, s.Duplicate, s.Rejected)
		})))
	return p
}

// columns says on a terminal what each header was taken for.
func (p *progress) columns(columns []intake.Column, encoding string) {
	if p.bars == nil {
		return
	}
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = c.String()
	}
	fmt.Fprintf(p.bars, "%s (%s): %s\n", p.name, encoding, strings.Join(parts, "; "))
}

func (p *progress) update(s intake.Summary, bytes int64) {
	p.last.Store(&s)
	if p.bar != nil {
		p.bar.SetCurrent(bytes)
	}
}

func (p *progress) end() {
	if p.bars == nil {
		return
	}
	p.bar.SetTotal(-1, true) // whatever the size was: it is done
	p.bars.Wait()
}
