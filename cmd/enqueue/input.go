package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/intake"
)

// inputFlags say how files are read and where their rejects go.
type inputFlags struct {
	maps            []string
	format, rejects string
	json            bool
}

func (f *inputFlags) add(c *cobra.Command, counts string) {
	c.Flags().StringArrayVar(&f.maps, "map", nil, "`FIELD=HEADER`: take a field from this column; repeatable")
	c.Flags().StringVar(&f.format, "format", "", "csv or jsonl (default found out)")
	c.Flags().StringVar(&f.rejects, "rejects", "", "write rejected rows to this `FILE`; - is standard output, and the counts then go to standard error (default the input's name with .rejected.csv)")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object: "+counts)
}

func (f *inputFlags) options() (o intake.Options, err error) {
	o.Map = map[string]string{}
	if o.Format, err = intake.ParseFormat(f.format); err != nil {
		return o, app.Usagef("--format: %w", err)
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

// counts is where the counts are printed: beside rejects on standard output they
// would be taken for one of them.
func (f *inputFlags) counts(c *cobra.Command) io.Writer {
	if f.rejects == "-" {
		return c.ErrOrStderr()
	}
	return c.OutOrStdout()
}

// An input is a file that is being read, or standard input, with the place of its
// rejects.
type input struct {
	io.Reader
	name    string
	size    int64 // 0: not known
	rejects *rejects
	file    *os.File // nil for standard input
}

func (f *inputFlags) open(c *cobra.Command, name string) (*input, error) {
	in := &input{name: name, Reader: c.InOrStdin(), rejects: &rejects{name: intake.RejectsName(name)}}
	if name == "-" {
		in.rejects.name = intake.RejectsName("stdin")
	} else {
		file, err := os.Open(name)
		if err != nil {
			return nil, app.Usage(err)
		}
		in.Reader, in.file = file, file
	}
	switch f.rejects {
	case "":
	case "-":
		in.rejects.stdout = c.OutOrStdout()
	default:
		in.rejects.name = f.rejects
	}
	if err := in.check(); err != nil {
		return nil, errors.Join(app.Usage(err), in.close())
	}
	return in, nil
}

// check looks at what the name stands for.
func (in *input) check() error {
	file, ok := in.Reader.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a folder: name its files", in.name)
	}
	if other, err := os.Stat(in.rejects.name); err == nil && in.rejects.stdout == nil && os.SameFile(info, other) {
		return fmt.Errorf("--rejects %s: this is the input itself: name another file", in.rejects.name)
	}
	if info.Mode().IsRegular() {
		in.size = info.Size()
	}
	return nil
}

// close closes what was opened.
func (in *input) close() error {
	err := in.rejects.close()
	if in.file != nil {
		err = errors.Join(err, in.file.Close())
	}
	return err
}

// sayRejected tells a person where the rejects are.
func (in *input) sayRejected(c *cobra.Command, n int64) {
	if n == 0 {
		return
	}
	where := "see " + in.rejects.name
	if in.rejects.stdout != nil {
		where = "they are on standard output"
	}
	fmt.Fprintf(c.ErrOrStderr(), "%s: %d rows were rejected; %s\n", in.name, n, where)
}

// rejects are created when there is something to write, so that a clean import
// leaves no file behind.
type rejects struct {
	name   string
	stdout io.Writer // instead of a file
	file   *os.File
}

func (r *rejects) open() (io.Writer, error) {
	if r.stdout != nil {
		return r.stdout, nil
	}
	f, err := os.OpenFile(r.name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // it holds personal data
	if err != nil {
		return nil, fmt.Errorf("write the rejects: %w", err)
	}
	r.file = f
	return f, nil
}

func (r *rejects) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
