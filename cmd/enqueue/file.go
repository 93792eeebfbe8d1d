package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"backstop/accept"
	"backstop/app"
	"backstop/intake"
	"backstop/lead"
)

func fileCommand() *cobra.Command {
	var f fileFlags
	c := &cobra.Command{
		Use:   "file FILE...",
		Short: "Accept the leads of CSV or JSON-lines files (- is standard input)",
		Long: `file reads leads from CSV or JSON lines, in any of the usual encodings and with the
headers of the usual systems, and accepts them: into the ledger first, then on the
queue. Rows that cannot be used go to FILE.rejected.csv with line and reason; it can
be corrected and read in. Running it again accepts nothing twice.

A row needs an email address or a name. Rows that their source marks as deleted or
unsubscribed are skipped.`,
		Example: `  enqueue file leads.csv
  enqueue file export.csv --map email="Kunde (Mail)" --source crm
  crm-export | enqueue file - --source crm --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error { return f.run(c, files) },
	}
	c.Flags().StringArrayVar(&f.maps, "map", nil, "`FIELD=HEADER`: take a lead's field from this column; repeatable")
	c.Flags().StringVar(&f.source, "source", "", "`NAME` of the source (default the file's base name)")
	c.Flags().StringVar(&f.format, "format", "", "csv or jsonl (default found out)")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object: read, accepted, duplicate, skipped, rejected")
	return c
}

type fileFlags struct {
	maps           []string
	source, format string
	json           bool
}

func (f fileFlags) options() (intake.Options, error) {
	o := intake.Options{Source: f.source, Format: intake.Format(f.format), Map: map[string]string{}}
	switch o.Format {
	case "", intake.FormatCSV, intake.FormatJSONL:
	default:
		return o, app.Usagef("--format %q: use csv or jsonl", f.format)
	}
	for _, m := range f.maps {
		field, header, ok := strings.Cut(m, "=")
		if !ok || field == "" {
			return o, app.Usagef("--map %q: write it as FIELD=HEADER, such as email=Mail", m)
		}
		o.Map[field] = header
	}
	return o, nil
}

func (f fileFlags) run(c *cobra.Command, files []string) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	return app.With(c, func(a *app.App) (err error) {
		ctx := c.Context()
		if err := a.Open(ctx); err != nil {
			return err
		}
		sink := &queueSink{&accept.Enqueuer{Ledger: a.Ledger, Queue: a.Queue, Log: a.Log}}
		var total intake.Summary
		for _, name := range files {
			sum, ferr := f.one(ctx, c, sink, name, o)
			total = add(total, sum)
			if ferr != nil {
				err = errors.Join(err, ferr)
				if ctx.Err() != nil {
					break
				}
			}
		}
		if perr := f.print(c.OutOrStdout(), total); perr != nil {
			err = errors.Join(err, perr)
		}
		if n := sink.Unqueued(); n > 0 {
			fmt.Fprintf(c.ErrOrStderr(), "%d accepted leads could not be put on the queue; a running worker does that from the ledger\n", n)
		}
		return err
	})
}

// one imports one file.
func (f fileFlags) one(ctx context.Context, c *cobra.Command, sink intake.Sink, name string, o intake.Options) (sum intake.Summary, err error) {
	in, size, err := openInput(c, name)
	if err != nil {
		return sum, app.Usage(err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	r, err := intake.Read(in, name, o)
	if err != nil {
		return sum, app.Usage(err)
	}
	rejects := &rejectsFile{name: intake.RejectsName(name)}
	if name == "-" {
		rejects.name = intake.RejectsName("stdin")
	}
	progress := newProgress(c.ErrOrStderr(), name, size)
	progress.columns(r.Columns(), r.Encoding())
	sum, err = intake.Importer{Sink: sink, Rejects: rejects.open, Progress: progress.update}.Import(ctx, r)
	progress.end()
	if cerr := rejects.close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	if sum.Rejected > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "%s: %d rows were rejected; see %s\n", name, sum.Rejected, rejects.name)
	}
	return sum, err
}

func (f fileFlags) print(w io.Writer, s intake.Summary) error {
	if f.json {
		return json.NewEncoder(w).Encode(s)
	}
	_, err := fmt.Fprintf(w, "read %d: accepted %d, duplicate %d, skipped %d, rejected %d\n",
		s.Read, s.Accepted, s.Duplicate, s.Skipped, s.Rejected)
	return err
}

func add(a, b intake.Summary) intake.Summary {
	return intake.Summary{
		Read: a.Read + b.Read, Accepted: a.Accepted + b.Accepted, Duplicate: a.Duplicate + b.Duplicate,
		Skipped: a.Skipped + b.Skipped, Rejected: a.Rejected + b.Rejected,
	}
}

// openInput opens a file, or standard input for "-". size is 0 when it is not
// known.
func openInput(c *cobra.Command, name string) (in io.ReadCloser, size int64, err error) {
	if name == "-" {
		return io.NopCloser(c.InOrStdin()), 0, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	if info.IsDir() {
		return nil, 0, errors.Join(fmt.Errorf("%s is a folder: name its files", name), file.Close())
	}
	return file, info.Size(), nil
}

// A rejectsFile is created when there is something to write, so that a clean import
// leaves none behind.
type rejectsFile struct {
	name string
	file *os.File
}

func (r *rejectsFile) open() (io.Writer, error) {
	f, err := os.OpenFile(r.name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // it holds personal data
	if err != nil {
		return nil, fmt.Errorf("write the rejects: %w", err)
	}
	r.file = f
	return f, nil
}

func (r *rejectsFile) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// A queueSink accepts leads through the ledger and the queue.
type queueSink struct{ *accept.Enqueuer }

// Put implements [intake.Sink].
func (s *queueSink) Put(ctx context.Context, leads []lead.Lead) ([]intake.Result, error) {
	accepted, err := s.Enqueuer.Put(ctx, leads)
	results := make([]intake.Result, len(accepted))
	for i, a := range accepted {
		results[i] = intake.Result{LeadID: a.LeadID, RequestID: a.RequestID, Duplicate: a.Duplicate, Suppressed: a.Suppressed}
	}
	return results, err
}
