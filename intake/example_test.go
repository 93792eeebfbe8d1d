package intake_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"backstop/intake"
	"backstop/lead"
)

// Reading a file gives one row for each of its rows: a lead, one to skip, or a reject
// that says what is wrong and what to do.
func ExampleRead() {
	file := strings.NewReader(`Record ID;E-Mail-Adresse;Nachname;Firma;Opt-out
17;ANN@One.Example;Lee;One GmbH;
18;ben@two.example;Roe;Two SA;yes
19;nobody;Poe;Three Ltd;
`)
	r, err := intake.Read(file, "crm.csv", intake.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Columns() {
		fmt.Println(c)
	}
	for row, err := range r.Rows(context.Background()) {
		switch {
		case err != nil:
			fmt.Println(err)
		case row.Reject != nil:
			fmt.Printf("line %d: %s %s: %s\n", row.Line, row.Reject.Field, row.Reject.Reason, row.Reject.Cure)
		case row.Skip != "":
			fmt.Printf("line %d: skipped: %s\n", row.Line, row.Skip)
		default:
			fmt.Printf("line %d: %s of %s, %s %s\n", row.Line, row.Lead.Email, row.Lead.Company, row.Lead.Source, row.Lead.SourceID)
		}
	}
	// Output:
	// Record ID -> source_id
	// E-Mail-Adresse -> email
	// Nachname -> family_name
	// Firma -> company
	// Opt-out -> opt_out
	// line 2: ann@one.example of One GmbH, crm.csv 17
	// line 3: skipped: unsubscribed
	// line 4: email is not an email address: correct it or empty the cell
}

// A list is a sink that keeps the addresses it is given.
type list []string

func (l *list) Put(_ context.Context, leads []lead.Lead) ([]intake.Result, error) {
	for _, x := range leads {
		*l = append(*l, x.Email)
	}
	return make([]intake.Result, len(leads)), nil
}

// An importer hands the leads on and writes the rejects, as a file to be corrected and
// read in again.
func ExampleImporter() {
	r, err := intake.Read(strings.NewReader("email\nann@one.example\nnobody\n"), "crm.csv", intake.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var accepted list
	stdout := func() (io.Writer, error) { return os.Stdout, nil }
	sum, err := intake.Importer{Sink: &accepted, Rejects: stdout}.Import(context.Background(), r)
	fmt.Printf("%+v %v\n%q\n", sum, err, accepted)
	// Output:
	// line,field,reason,cure,email
	// 3,email,is not an email address,correct it or empty the cell,nobody
	// {Read:2 Accepted:1 Duplicate:0 Skipped:0 Rejected:1} <nil>
	// ["ann@one.example"]
}
