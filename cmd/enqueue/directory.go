package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"backstop/app"
	"backstop/intake"
	"backstop/lead"
	"backstop/ledger"
)

func directoryCommand() *cobra.Command {
	var f fileFlags
	c := &cobra.Command{
		Use:   "directory FILE",
		Short: "Load people into the in-house directory, which the fallback asks",
		Long: `directory reads people from CSV or JSON lines into the in-house directory: a column
email, and one for each profile field that is known, such as name, title, company,
domain, industry, or person.title in full; as_of says when it was true. A person who
is there already is replaced.`,
		Example: `  enqueue directory people.csv`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return f.directory(c, args[0]) },
	}
	c.Flags().StringArrayVar(&f.maps, "map", nil, "`FIELD=HEADER`: take a field from this column; repeatable")
	c.Flags().StringVar(&f.format, "format", "", "csv or jsonl (default found out)")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object: read, inserted, updated, skipped, rejected")
	return c
}

// directorySummary counts what became of the rows.
type directorySummary struct {
	Read     int `json:"read"`
	Inserted int `json:"inserted"`
	Updated  int `json:"updated"`
	Skipped  int `json:"skipped"`
	Rejected int `json:"rejected"`
}

func (f fileFlags) directory(c *cobra.Command, name string) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	return app.With(c, func(a *app.App) (err error) {
		if err := a.OpenLedger(c.Context()); err != nil {
			return err
		}
		in, _, err := openInput(c, name)
		if err != nil {
			return app.Usage(err)
		}
		defer func() { err = errors.Join(err, in.Close()) }()
		r, err := intake.ReadPeople(in, name, o)
		if err != nil {
			return app.Usage(err)
		}
		rejects := &rejectsFile{name: intake.RejectsName(name)}
		sum, err := loadPeople(c.Context(), a.Ledger, r, intake.NewRejectWriter(rejects.open, r.RejectHeaders()))
		err = errors.Join(err, rejects.close())
		if sum.Rejected > 0 {
			fmt.Fprintf(c.ErrOrStderr(), "%s: %d rows were rejected; see %s\n", name, sum.Rejected, rejects.name)
		}
		if f.json {
			return errors.Join(err, json.NewEncoder(c.OutOrStdout()).Encode(sum))
		}
		_, perr := fmt.Fprintf(c.OutOrStdout(), "read %d: inserted %d, updated %d, skipped %d, rejected %d\n",
			sum.Read, sum.Inserted, sum.Updated, sum.Skipped, sum.Rejected)
		return errors.Join(err, perr)
	})
}

func loadPeople(ctx context.Context, l *ledger.Ledger, r *intake.PeopleReader, rejects *intake.RejectWriter) (sum directorySummary, err error) {
	var batch []ledger.Person
	put := func() error {
		put, suppressed, err := l.PutPeople(ctx, batch)
		sum.Inserted += put.Inserted
		sum.Updated += put.Updated
		sum.Skipped += suppressed
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
			batch = append(batch, ledger.Person{Email: row.Profile[lead.PersonEmail], Profile: row.Profile, AsOf: row.AsOf.Time})
		}
		if len(batch) >= intake.DefaultBatch {
			if err := put(); err != nil {
				return sum, err
			}
		}
	}
	return sum, errors.Join(put(), rejects.Flush())
}
