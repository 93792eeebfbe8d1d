package intake

import (
	"context"
	"fmt"
	"io"

	"backstop/lead"
)

// A Result is what became of a lead that was handed on.
type Result struct {
	Duplicate  bool // it had been accepted before
	Suppressed bool // the person opted out: the lead was turned away
}

// A Sink accepts leads. The results are in the order of the leads. With an error
// there may be results for the first of them: those are accepted all the same.
// The slice is used again for the next batch: a sink must not keep it.
type Sink interface {
	Put(ctx context.Context, leads []lead.Lead) ([]Result, error)
}

// A Summary counts what became of the rows. Read is always the sum of the rest.
type Summary struct {
	Read      int64 `json:"read"`
	Accepted  int64 `json:"accepted"`
	Duplicate int64 `json:"duplicate"`
	Skipped   int64 `json:"skipped"`
	Rejected  int64 `json:"rejected"`
}

// DefaultBatch is how many leads are handed on at once.
const DefaultBatch = 500

// An Importer hands a file's leads to a sink.
type Importer struct {
	Sink  Sink
	Batch int // leads handed on at once; 0 is DefaultBatch
	// Rejects opens the file for rejects when there is one to write. The caller
	// closes it. Nil keeps only their number.
	Rejects func() (io.Writer, error)
	// Progress is told after each batch, now and then between them, and at the end.
	Progress func(s Summary, bytesRead int64)
}

// Import reads r to its end, or until ctx ends; then it stops between two batches. The
// summary is exact whatever happens: a row is counted when it has been accepted,
// skipped or written to the rejects, not when it has been read. The error says how many
// leads were accepted, and from which line on none was.
func (im Importer) Import(ctx context.Context, r *Reader) (Summary, error) {
	run := importRun{Importer: im, r: r, rejects: NewRejectWriter(im.Rejects, r.RejectHeaders())}
	if run.Batch <= 0 {
		run.Batch = DefaultBatch
	}
	err := run.all(ctx)
	if ferr := run.rejects.Flush(); err == nil {
		err = ferr
	}
	run.report()
	return run.sum, err
}

// importRun is one import under way.
type importRun struct {
	Importer
	r       *Reader
	rejects *RejectWriter
	sum     Summary
	batch   []lead.Lead
	lines   []int // where each lead of the batch begins
	line    int   // where the last row begins
	sinceUp int   // rows since progress was told
}

func (run *importRun) all(ctx context.Context) error {
	for row, err := range run.r.Rows(ctx) {
		if err != nil {
			return run.stopped(ctx, err)
		}
		run.line = row.Line
		if err := run.row(ctx, row); err != nil {
			return err
		}
	}
	return run.put(ctx)
}

// stopped ends an import whose stream cannot go on. What was read until then is
// handed on, unless the user wants to stop.
func (run *importRun) stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		if perr := run.put(ctx); perr != nil {
			return perr
		}
	}
	from := run.line + 1
	if len(run.lines) > 0 {
		from = run.lines[0]
	}
	return run.failed(err, from)
}

func (run *importRun) failed(err error, from int) error {
	return fmt.Errorf("%w: %d leads were accepted and %d were known already, none from line %d on; import the file again to go on, nothing is taken in twice",
		err, run.sum.Accepted, run.sum.Duplicate, from)
}

func (run *importRun) row(ctx context.Context, row Row) error {
	switch {
	case row.Reject != nil:
		if run.Rejects != nil {
			if err := run.rejects.Write(row.Reject); err != nil {
				return run.failed(err, run.firstOpen(row.Line))
			}
		}
		run.sum.Rejected++
		run.sum.Read++
	case row.Skip != "":
		run.sum.Skipped++
		run.sum.Read++
	default:
		run.batch = append(run.batch, row.Lead)
		run.lines = append(run.lines, row.Line)
	}
	if len(run.batch) >= run.Batch {
		return run.put(ctx)
	}
	if run.sinceUp++; run.sinceUp >= DefaultBatch {
		run.report()
	}
	return nil
}

// firstOpen is the first line that has not been handed on.
func (run *importRun) firstOpen(line int) int {
	if len(run.lines) > 0 {
		return run.lines[0]
	}
	return line
}

// put hands the batch on and counts what came of it.
func (run *importRun) put(ctx context.Context) error {
	if len(run.batch) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return run.failed(err, run.lines[0])
	}
	results, err := run.Sink.Put(ctx, run.batch)
	if err == nil && len(results) != len(run.batch) {
		err = fmt.Errorf("%d of %d leads were answered for", len(results), len(run.batch))
	}
	results = results[:min(len(results), len(run.batch))]
	for _, res := range results {
		run.sum.Read++
		switch {
		case res.Suppressed:
			run.sum.Skipped++
		case res.Duplicate:
			run.sum.Duplicate++
		default:
			run.sum.Accepted++
		}
	}
	if err != nil {
		from := run.line + 1
		if len(results) < len(run.lines) {
			from = run.lines[len(results)]
		}
		return run.failed(fmt.Errorf("hand on leads: %w", err), from)
	}
	if ferr := run.rejects.Flush(); ferr != nil {
		return run.failed(ferr, run.line+1)
	}
	run.batch, run.lines = run.batch[:0], run.lines[:0]
	run.report()
	return nil
}

func (run *importRun) report() {
	run.sinceUp = 0
	if run.Progress != nil {
		run.Progress(run.sum, run.r.BytesRead())
	}
}
