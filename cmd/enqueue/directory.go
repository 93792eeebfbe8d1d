package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/intake"
	"backstop/lead"
	"backstop/ledger"
)

func directoryCommand() *cobra.Command {
	var f inputFlags
	c := &cobra.Command{
		Use:   "directory FILE",
		Short: "Load people into the in-house directory, which the fallback asks",
		Long: `directory reads people from CSV or JSON lines into the in-house directory: a column
email, and one for each profile field that is known, such as name, title, company,
domain, industry, or person.title in full; as_of says when it was true. A person who
is there already is replaced. Rows that cannot be used go where those of enqueue file
do.`,
		Example: `  enqueue directory people.csv`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return f.directory(c, args[0]) },
	}
	f.add(c, "read, inserted, updated, skipped, rejected")
	return c
}

// directorySummary counts what became of the rows.
type directorySummary struct {
	Read     int   `json:"read"`
	Inserted int   `json:"inserted"`
	Updated  int   `json:"updated"`
	Skipped  int   `json:"skipped"`
	Rejected int64 `json:"rejected"`
}

// directory loads the people of one file.
func (f *inputFlags) directory(c *cobra.Command, name string) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	return app.With(c, (*app.App).OpenLedger, func(ctx context.Context, a *app.App) (err error) {
		in, err := f.open(c, name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, in.close()) }()
		r, err := intake.ReadPeople(in, name, o)
		if err != nil {
			return app.Usage(err)
		}
		sum, err := loadPeople(ctx, a.Ledger, r, intake.NewRejectWriter(in.rejects.open, r.RejectHeaders()))
		in.sayRejected(c, sum.Rejected)
		return errors.Join(err, show(f.counts(c), f.json, sum, "read %d: inserted %d, updated %d, skipped %d, rejected %d\n",
			sum.Read, sum.Inserted, sum.Updated, sum.Skipped, sum.Rejected))
	})
}

func loadPeople(ctx context.Context, l *ledger.Ledger, r *intake.PeopleReader, rejects *intake.RejectWriter) (sum directorySummary, err error) {
	var batch []ledger.DirectoryEntry
	put := func() error {
		put, err := l.PutEntries(ctx, batch)
		sum.Inserted += put.Inserted
		sum.Updated += put.Updated
		sum.Skipped += put.Suppressed
		batch = batch[:0]
		return err
	}
	for row, err := range r.Rows(ctx) {
		if err != nil {
			return sum, errors.Join(err, put(), rejects.Flush())
		}
		sum.Read++
		switch {
		case row.Reject != nil:
			sum.Rejected++
			if err := rejects.Write(row.Reject); err != nil {
				return sum, err
			}
		case row.Skip != "":
			sum.Skipped++
		default:
			batch = append(batch, ledger.DirectoryEntry{Email: row.Profile[lead.PersonEmail], Profile: row.Profile, AsOf: row.AsOf.Time})
		}
		if len(batch) >= intake.DefaultBatch {
			if err := put(); err != nil {
				return sum, err
			}
		}
	}
	return sum, errors.Join(put(), rejects.Flush())
}
