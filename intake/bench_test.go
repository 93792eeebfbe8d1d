package intake

import (
	"io"
	"strings"
	"testing"
)

func BenchmarkRows(b *testing.B) {
	const row = "ann.roe@x.example,Ann Roe,\"Acme, Inc.\",Head of Sales,+1 555 0100,a note that nobody reads\n"
	b.SetBytes(int64(len(row)))
	b.ReportAllocs()
	r, err := Read(io.MultiReader(strings.NewReader("email,name,company,title,phone,note\n"), &endless{row: row, n: b.N + 1}), "x.csv", Options{})
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		for row, err := range r.Rows(b.Context()) {
			if err != nil || row.Reject != nil {
				b.Fatal(err, row.Reject)
			}
			break
		}
	}
}
