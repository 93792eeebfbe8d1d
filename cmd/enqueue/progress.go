package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"backstop/intake"
)

// progress shows how far an import is: a bar on a terminal, nothing elsewhere.
type progress struct {
	w    io.Writer
	name string
	bars *mpb.Progress
	bar  *mpb.Bar
	last intake.Summary
}

// newProgress begins to show the import of a file of the given size; 0 is unknown.
func newProgress(w io.Writer, name string, size int64) *progress {
	p := &progress{w: w, name: name}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return p
	}
	p.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(40))
	p.bar = p.bars.AddBar(size,
		mpb.PrependDecorators(decor.Name(name+" ")),
		mpb.AppendDecorators(decor.Percentage(), decor.Any(func(decor.Statistics) string {
			return fmt.Sprintf("  %d accepted, %d duplicate, %d rejected", p.last.Accepted, p.last.Duplicate, p.last.Rejected)
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
	p.last = s
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
