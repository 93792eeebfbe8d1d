package intake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"backstop/lead"
)

// memory is a sink that remembers which leads it has seen.
type memory struct {
	seen  map[string]bool
	puts  int
	after func(put int) (accept int, err error) // nil accepts everything
}

func (m *memory) Put(ctx context.Context, leads []lead.Lead) ([]Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m.seen == nil {
		m.seen = map[string]bool{}
	}
	m.puts++
	n, err := len(leads), error(nil)
	if m.after != nil {
		n, err = m.after(m.puts)
	}
	var out []Result
	for _, l := range leads[:min(n, len(leads))] {
		out = append(out, Result{Duplicate: m.seen[l.ID()]})
		m.seen[l.ID()] = true
	}
	return out, err
}

func (s Summary) sums() bool { return s.Read == s.Accepted+s.Duplicate+s.Skipped+s.Rejected }

func mustRead(t testing.TB, name, text string) *Reader {
	t.Helper()
	r, err := Read(strings.NewReader(text), name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const mixedRows = "id,email,name,IsDeleted\n" +
	"1,a@x.example,A,\n" +
	"1,a@x.example,A,\n" +
	",,,\n" +
	"2,b@x.example,B,TRUE\n" +
	"3,not one,=cmd,\n" +
	"4,c@x.example,\"C,\n" +
	"5,d@x.example,D,\n"

func TestEveryRowIsCounted(t *testing.T) {
	var rejects bytes.Buffer
	var told []Summary
	im := Importer{
		Sink: &memory{}, Batch: 2,
		Rejects:  func() (io.Writer, error) { return &rejects, nil },
		Progress: func(s Summary, _ int64) { told = append(told, s) },
	}
	sum, err := im.Import(t.Context(), mustRead(t, "x.csv", mixedRows))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Summary{Read: 7, Accepted: 2, Duplicate: 1, Skipped: 2, Rejected: 2}); sum != want {
		t.Errorf("summary %+v, want %+v", sum, want)
	}
	if len(told) == 0 || told[len(told)-1] != sum {
		t.Errorf("progress ended with %+v", told)
	}
	want := "line,field,reason,cure,id,email,name,IsDeleted\n" +
		"6,email,is not an email address,correct it or empty the cell,3,not one,'=cmd,\n" +
		"7,,opens a quote that is not closed,close the quote or remove it,4,c@x.example,\"\"\"C\",\n"
	if rejects.String() != want {
		t.Errorf("rejects\n%s\nwant\n%s", rejects.String(), want)
	}
}

func TestARejectsFileIsCorrectedAndReadIn(t *testing.T) {
	for name, text := range map[string]string{
		"x.csv":   "id,reason,email\n7,why,nobody\n",
		"x.jsonl": `{"id":7,"reason":"why","email":"nobody"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var rejects bytes.Buffer
			im := Importer{Sink: &memory{}, Rejects: func() (io.Writer, error) { rejects.Reset(); return &rejects, nil }}
			sum, err := im.Import(t.Context(), mustRead(t, name, text))
			if err != nil || sum.Rejected != 1 {
				t.Fatalf("summary %+v, error %v", sum, err)
			}
			first := rejects.String()
			// Uncorrected it gives the same rejects again, not ever longer ones.
			if _, err = im.Import(t.Context(), mustRead(t, RejectsName(name), first)); err != nil {
				t.Fatal(err)
			}
			if again := rejects.String(); strings.Count(again, "line,") != 1 || again != first && name == "x.csv" && !strings.Contains(again, "2,email") {
				t.Errorf("the rejects of the rejects are\n%s\nnot\n%s", again, first)
			}
			rows := rowsOf(t, mustRead(t, RejectsName(name), strings.ReplaceAll(first, "nobody", "a@x.example")))
			want := lead.Lead{Source: name, SourceID: "7", Email: "a@x.example"}
			if len(rows) != 1 || rows[0].Lead != want {
				t.Errorf("rows %+v", rows)
			}
		})
	}
}

func TestNoRejectsNoFile(t *testing.T) {
	im := Importer{Sink: &memory{}, Rejects: func() (io.Writer, error) { return nil, errors.New("opened") }}
	if _, err := im.Import(t.Context(), mustRead(t, "x.csv", "email\na@x.example\n")); err != nil {
		t.Errorf("a file without rejects: %v", err)
	}
	sum, err := im.Import(t.Context(), mustRead(t, "x.csv", "email\nno\n"))
	if err == nil || sum.Rejected != 0 || !sum.sums() {
		t.Errorf("a reject that could not be written: %+v, %v", sum, err)
	}
}

func TestWhenTheSinkFailsTheErrorSaysHowFarItGot(t *testing.T) {
	down := errors.New("the database is away")
	var b strings.Builder
	b.WriteString("email\n")
	for i := range 10 {
		fmt.Fprintf(&b, "p%d@x.example\n", i)
	}
	tests := []struct {
		name     string
		after    func(int) (int, error)
		accepted int64
		want     string
	}{
		{"at once", func(int) (int, error) { return 0, down }, 0, "0 leads were accepted and 0 were known already, none from line 2 on"},
		{"at the second batch", func(put int) (int, error) {
			if put == 2 {
				return 0, down
			}
			return 4, nil
		}, 4, "4 leads were accepted and 0 were known already, none from line 6 on"},
		{"inside the second batch", func(put int) (int, error) {
			if put == 2 {
				return 1, down
			}
			return 4, nil
		}, 5, "5 leads were accepted and 0 were known already, none from line 7 on"},
		{"by answering for too few", func(int) (int, error) { return 3, nil }, 3, "3 of 4 leads were answered for"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sink := &memory{after: tt.after}
			sum, err := Importer{Sink: sink, Batch: 4}.Import(t.Context(), mustRead(t, "x.csv", b.String()))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if sum.Accepted != tt.accepted || !sum.sums() {
				t.Errorf("summary %+v, want %d accepted", sum, tt.accepted)
			}
		})
	}
}

func TestAnImportThatIsStoppedHasAnExactSummary(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	sink := &memory{after: func(put int) (int, error) {
		if put == 2 {
			cancel()
		}
		return 2, nil
	}}
	sum, err := Importer{Sink: sink, Batch: 2}.Import(ctx, mustRead(t, "x.csv", "email\na@x.example\nb@x.example\nc@x.example\nd@x.example\ne@x.example\n"))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "none from line 6 on") {
		t.Errorf("error %v", err)
	}
	if (sum != Summary{Read: 4, Accepted: 4}) {
		t.Errorf("summary %+v", sum)
	}
}

// endless gives n copies of a row without ever holding more than one.
type endless struct {
	row  string
	n    int
	left string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == "" {
		if e.n == 0 {
			return 0, io.EOF
		}
		e.n--
		e.left = e.row
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

func TestMemoryIsBoundedWhateverIsRead(t *testing.T) {
	const size = 6 << 20
	for name, row := range map[string]string{
		"rows":                 "a@x.example,Ann,X\n",
		"one endless line":     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"one endless quote":    "\"\"\"x\n",
		"cells without end":    ",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,",
		"rows of large notes":  "a@x.example,Ann,X" + strings.Repeat("y", 100<<10) + "\n",
		"rows with open quote": "a@x.example,\"Ann,X\n",
	} {
		t.Run(name, func(t *testing.T) {
			in := &endless{row: row, n: size / len(row)}
			r, err := Read(io.MultiReader(strings.NewReader("email,name,note\n"), in), "x.csv", Options{})
			if err != nil {
				t.Fatal(err)
			}
			var before, now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var most uint64
			n := 0
			check := func() {
				runtime.GC()
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
			}
			for row, err := range r.Rows(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if row.Lead.Email == "" && row.Reject == nil {
					t.Fatalf("row %+v", row)
				}
				if n++; n%100_000 == 1 {
					check()
				}
			}
			check()
			if grown := int64(most) - int64(before.HeapAlloc); grown > 3<<20 {
				t.Errorf("%d MiB more in use after %d rows", grown>>20, n)
			}
		})
	}
}

func FuzzEveryRowIsAccountedFor(f *testing.F) {
	for _, s := range []string{
		mixedRows, "\ufeff\"email\"\n\"a@x.example\n", "sep=;\nemail;x\na;b;c\n", "email\r\"\r\"", "email,email\na,b\n",
		`{"email":"a@x.example"}` + "\n[", `[{"email":"a@x.example"},{"a":[{"b":1},{"c":2}]`, "[{\"a\":\"\n},{}]", "\xff\xfee\x00m\x00a\x00i\x00l\x00\n\x00",
		"line,field,reason,cure,json\n1,,,,\"{\"\"email\"\":\"\"a@x.example\"\"}\"\n", "email\n\xe9@x.example\n", "Notes:\n\nemail,n\n\"a\n\"b\"\n,,\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read(bytes.NewReader(text), "x", Options{})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x: ") {
				t.Errorf("%q does not name the file", err)
			}
			return
		}
		var rejects bytes.Buffer
		sum, err := Importer{
			Sink: &memory{}, Batch: 3, Rejects: func() (io.Writer, error) { return &rejects, nil },
		}.Import(t.Context(), r)
		if err != nil {
			t.Fatalf("a text that is all there is an error: %v", err)
		}
		if !sum.sums() {
			t.Errorf("%+v does not add up", sum)
		}
		if sum.Rejected == 0 {
			return
		}
		again, err := Read(&rejects, "x"+rejectsSuffix, Options{})
		if err != nil {
			t.Fatalf("our own rejects cannot be read: %v", err)
		}
		n := int64(0)
		for _, err := range again.Rows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != sum.Rejected {
			t.Errorf("%d rows in the file of %d rejects", n, sum.Rejected)
		}
	})
}
