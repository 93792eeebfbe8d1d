package intake

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

func TestCSVIsReadHoweverItWasWritten(t *testing.T) {
	const ab = "2 a@x.example\n3 b@x.example"
	mega := strings.Repeat("x", 1<<20)
	tests := []struct{ name, text, want string }{
		{"a byte order mark", "\ufeffemail,name\na@x.example,A\nb@x.example,B\n", ab},
		{"a byte order mark and a quoted header", "\ufeff\"email\",\"name\"\na@x.example,A\nb@x.example,B\n", ab},
		{"two byte order marks, one where files were joined", "\ufeff\ufeffemail\na@x.example\n\ufeff\"b@x.example\"\n", ab},
		{"semicolons", "name;email\nA;a@x.example\n\"B; jr\";b@x.example\n", ab},
		{"tabs", "name\temail\nA\ta@x.example\nB\tb@x.example\n", ab},
		{"bars", "name|email\nA|a@x.example\nB|b@x.example\n", ab},
		{"semicolons though the header has commas", "\"name, full\";email;first name\nA;a@x.example;\nB;b@x.example\n", ab},
		{"Excel's sep line", "sep=;\nname;email\nA;a@x.example\nB;b@x.example\n", "3 a@x.example\n4 b@x.example"},
		{"Excel's sep line, quoted, with a delimiter of its own", "\ufeff\"SEP=^\"\r\nname^email\r\nA^a@x.example\r\nB^b@x.example", "3 a@x.example\n4 b@x.example"},
		{"CRLF", "email,name\r\na@x.example,A\r\nb@x.example,B\r\n", ab},
		{"CR", "email,name\ra@x.example,A\rb@x.example,B\r", ab},
		{"mixed line ends", "email,name\ra@x.example,A\r\nb@x.example,B\n", ab},
		{"no line end at the end", "email,name\na@x.example,A\nb@x.example,B", ab},
		{"blank lines", "\n\nemail,name\n\na@x.example,A\n  \nb@x.example,B\n\n", "5 a@x.example\n7 b@x.example"},
		{"a ^Z at the end", "email,name\na@x.example,A\nb@x.example,B\n\x1a", ab},
		{"headers with blanks, gaps and abbreviations", "email,, last Name, comp\na@x.example,,A,X\nb@x.example,,B,X\n", ab},
		{"a title above the header", "Export of leads,,\n\nName,E-Mail,Company\nA,a@x.example,X\n", "4 a@x.example"},
		{"rows of commas", "email,name\n,\na@x.example,A\n , \n\"\",\n", "2 skip: empty row\n3 a@x.example\n4 skip: empty row\n5 skip: empty row"},
		{"short rows", "email,name,company\na@x.example\nb@x.example,B\n", ab},
		{"long rows that are only commas", "email,name\na@x.example,A,,\nb@x.example,B,\n", ab},
		{"a row with too many cells", "email,name\na@x.example,Roe, Ann\nb@x.example,B\n", "2 reject : has 3 cells where the header has 2\n3 b@x.example"},
		{"a NUL in a cell", "email,na\x00me\na@x.example,A\x00nn\nb@x\x00.example,B\n", ab},
		{"a cell of 1 MB", "email,note\na@x.example," + mega + "\nb@x.example,B\n", "2 reject : is longer than 256 KiB\n3 b@x.example"},
		{"a quoted cell of 1 MB", "email,note\n\"a@x.example\",\"" + mega + "\"\r\nb@x.example,B\n", "2 reject : is longer than 256 KiB\n3 b@x.example"},
		{"a quoted cell of 1 MB in lines", "email,note,name\na@x.example,\"" + strings.Repeat("xxxx yyyy\n", 1<<17) + "\",A\nb@x.example,,B\n",
			"2 reject : opens a quote that is not closed (lines 2 to 131074)\n131075 b@x.example"},
		{"a long cell within the bound", "email,note\na@x.example," + mega[:200<<10] + "\nb@x.example,B\n", ab},
		{"a name that is far too long", "email,name\na@x.example," + mega[:5000] + "\nb@x.example,B\n", "2 reject name: is longer than 1000 bytes\n3 b@x.example"},
		{"line ends inside quotes", "email,name,note\na@x.example,\"A\nNN\",\"x\r\ny, z\"\nb@x.example,B,\n", "2 a@x.example\n5 b@x.example"},
		{"quotes inside quotes", "email,name\na@x.example,\"A \"\"Al\"\" B\"\nb@x.example,\"B\" \n", ab},
		{"a quote inside a plain cell", "email,name\na@x.example,5\" pipe\nb@x.example,B\n", ab},
		{"quotes inside quotes that are not doubled", "email,name\na@x.example,\"A \"Al\" B\"\nb@x.example,B\n", ab},
		{"a space before the quote", "name, email\n\"Roe, A\", \"a@x.example\"\nB, b@x.example\n", ab},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, rows := readAll(t, "x.csv", tt.text, Options{})
			checkRows(t, rows, tt.want)
		})
		if len(tt.text) > 1<<16 {
			continue
		}
		t.Run(tt.name+", a byte at a time", func(t *testing.T) {
			r, err := Read(iotest.OneByteReader(strings.NewReader(tt.text)), "x.csv", Options{Format: FormatCSV})
			if err != nil {
				t.Fatal(err)
			}
			checkRows(t, rowsOf(t, r), tt.want)
		})
	}
}

func TestABrokenQuoteCostsItsOwnRowOnly(t *testing.T) {
	const unclosed = "reject : opens a quote that is not closed"
	const stray = "reject : has a quote in the wrong place"
	good := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			b.WriteString("\n" + string(rune('0'+i)) + " a@x.example")
		}
		return b.String()
	}
	const row = "1,Acme,a@x.example\n"
	tests := []struct{ name, rows, want string }{
		{"unclosed before plain rows", "1,\"Acme,a@x.example\n" + row + row, "2 " + unclosed + good(3, 4)},
		{"unclosed before quoted rows", "1,\"Acme,a@x.example\n" + "\"1\",\"Acme\",\"a@x.example\"\n" + row, "2 " + stray + good(3, 4)},
		{"unclosed in the last row", row + "1,\"Acme,a@x.example", "2 a@x.example\n3 " + unclosed},
		{"unclosed in the last cell", row + "1,Acme,\"a@x.example\n" + row, "2 a@x.example\n3 " + unclosed + good(4, 4)},
		{"closed by a quote some rows on", "1,Acme,\"a@x.example\n" + row + "1,Acme,a@x.example\"\n" + row,
			"2 " + unclosed + "\n3 a@x.example\n4 reject email: is not an email address\n5 a@x.example"},
		{"unclosed before short rows", "1,\"Acme\n1,,a@x.example\n" + row, "2 " + unclosed + good(3, 4)},
		{"a quote too many at a cell's start", "1,\"\"Acme,a@x.example\n" + row, "2 " + stray + good(3, 3)},
		{"a cell of lines with a stray quote", "1,\"Ac\nme \"x\" y\",a@x.example\n" + row, "2 " + stray + " (lines 2 to 3)" + good(4, 4)},
		{"every row", strings.Repeat("1,\"Acme,a@x.example\n", 3), "2 " + stray + "\n3 " + stray + "\n4 " + unclosed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, rows := readAll(t, "x.csv", "id,company,email\n"+tt.rows, Options{})
			checkRows(t, rows, tt.want)
		})
	}
	t.Run("before twenty thousand rows", func(t *testing.T) {
		_, rows := readAll(t, "x.csv", "id,company,email\n1,\"Acme,a@x.example\n"+strings.Repeat(row, 20_000), Options{})
		if len(rows) != 20_001 || rows[0].Reject == nil || rows[1].Reject != nil {
			t.Errorf("%d rows", len(rows))
		}
	})
}

func TestEncodingsAreFoundOut(t *testing.T) {
	const text = "name,email\nJosé Müller,a@x.example\nŻaneta,b@x.example\n"
	latin := strings.NewReplacer("Ż", "Š").Replace(text)
	encode := func(e interface{ Bytes([]byte) ([]byte, error) }, s string) string {
		b, err := e.Bytes([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	utf16 := func(e unicode.Endianness, b unicode.BOMPolicy) string {
		return encode(unicode.UTF16(e, b).NewEncoder(), text)
	}
	cp := encode(charmap.Windows1252.NewEncoder(), latin)
	tests := []struct{ name, text, encoding, second string }{
		{"UTF-8", text, "utf-8", "Żaneta"},
		{"UTF-16LE with a mark", utf16(unicode.LittleEndian, unicode.UseBOM), "utf-16le", "Żaneta"},
		{"UTF-16BE with a mark", utf16(unicode.BigEndian, unicode.UseBOM), "utf-16be", "Żaneta"},
		{"UTF-16LE without", utf16(unicode.LittleEndian, unicode.IgnoreBOM), "utf-16le", "Żaneta"},
		{"UTF-16BE without", utf16(unicode.BigEndian, unicode.IgnoreBOM), "utf-16be", "Żaneta"},
		{"windows-1252", cp, "windows-1252", "Šaneta"},
		{"windows-1252 behind a long stretch of ASCII", "name,email\nJosé Müller,a@x.example\n"[:11] + cp[11:] + strings.Repeat("Ann,c@x.example\n", 10000) + "\xc9va,d@x.example\n", "windows-1252", "Šaneta"},
		{"both pasted together", text + cp[11:], "utf-8 with windows-1252 bytes", "Żaneta"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, rows := readAll(t, "x.csv", tt.text, Options{})
			if r.Encoding() != tt.encoding {
				t.Errorf("encoding %q, want %q", r.Encoding(), tt.encoding)
			}
			if rows[0].Lead.Name != "José Müller" || rows[1].Lead.Name != tt.second {
				t.Errorf("names %q and %q", rows[0].Lead.Name, rows[1].Lead.Name)
			}
			for _, row := range rows {
				if row.Reject != nil {
					t.Errorf("line %d is rejected: %s", row.Line, row.Reject.Reason)
				}
			}
			if r.BytesRead() != int64(len(tt.text)) {
				t.Errorf("%d bytes read of %d", r.BytesRead(), len(tt.text))
			}
		})
	}
}

func TestHeaderTroubleIsAnErrorWithACure(t *testing.T) {
	tests := []struct {
		name, text string
		o          Options
		want       []string
	}{
		{"an empty file", "", Options{}, []string{"x.csv", "empty", "header line"}},
		{"a file of blank lines", "\n \n,,\n", Options{}, []string{"empty"}},
		{"a byte order mark and nothing else", "\ufeff", Options{}, []string{"empty"}},
		{"no header line", "Ann,ann@x.example,X\nBo,bo@x.example,Y\n", Options{}, []string{"line 1", "looks like data", "email,name,company"}},
		{"a single column without a header", "ann@x.example\nbo@x.example\n", Options{}, []string{"line 1", "looks like data"}},
		{"no usable column", "foo,bar,baz\n1,2,3\n", Options{}, []string{"line 1", "no column for an email address or a name", "--map email="}},
		{"no usable column of two", "foo,bar\n1,2\n", Options{}, []string{"line 1", "no column"}},
		{"a mapped header that is not there", "email,name\n", Options{Map: map[string]string{"title": "Rolle"}}, []string{"line 1", `no such column: "Rolle"`}},
		{"a mapped field that is unknown", "email,name\n", Options{Map: map[string]string{"titel": "name"}}, []string{`unknown field "titel"`, "given_name"}},
		{"a mapped header that occurs twice", "email,Name,Name\n", Options{Map: map[string]string{"name": "Name"}}, []string{"occurs 2 times", `"Name#2"`}},
		{"an unknown format", "email\n", Options{Format: "xml"}, []string{"unknown format"}},
		{"an empty JSON file", " \n", Options{Format: FormatJSONL}, []string{"empty", "JSON object"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(tt.text), "in/x.csv", tt.o)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range append(tt.want, "in/x.csv") {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if strings.Contains(err.Error(), "ann@") || strings.Contains(err.Error(), "Ann") {
				t.Errorf("%q tells personal data", err)
			}
		})
	}
}

func TestColumnsCanBeNamedByTheUser(t *testing.T) {
	m := func(kv ...string) Options {
		o := Options{Map: map[string]string{}}
		for i := 0; i < len(kv); i += 2 {
			o.Map[kv[i]] = kv[i+1]
		}
		return o
	}
	tests := []struct {
		name, text string
		o          Options
		want       string
	}{
		{"an unknown header", "Kunde (Mail);x\na@x.example;1\n", m("email", "kunde mail"), "a@x.example||"},
		{"instead of the known one", "Email,Other\na@x.example,b@x.example\n", m("email", "Other"), "b@x.example||"},
		{"the second of two", "Email,Email\na@x.example,b@x.example\n", m("email", "Email#2"), "b@x.example||"},
		{"a column taken for another field is no longer that", "email,Name\na@x.example,Acme\n", m("company", "Name"), "a@x.example||Acme"},
		{"a field that is not to be read", "email,Name\na@x.example,Acme\n", m("name", ""), "a@x.example||"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, rows := readAll(t, "x.csv", tt.text, tt.o)
			l := rows[0].Lead
			if got := l.Email + "|" + l.Name + "|" + l.Company; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTheFirstFilledOfSeveralColumnsCounts(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"twice the same title", "email,Title,Title\na@x.example,,CEO\n", "CEO"},
		{"the better known header first", "email,Position,Job Title\na@x.example,Boss,CEO\n", "CEO"},
		{"the other where that is empty", "email,Position,Job Title\na@x.example,Boss, \n", "Boss"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, rows := readAll(t, "x.csv", tt.text, Options{}); rows[0].Lead.Title != tt.want {
				t.Errorf("title %q, want %q", rows[0].Lead.Title, tt.want)
			}
		})
	}
	t.Run("but two columns of one name must not disagree on who it is", func(t *testing.T) {
		_, rows := readAll(t, "x.csv", "Email,Email\na@x.example,A@x.example\n,b@x.example\na@x.example,b@x.example\n", Options{})
		checkRows(t, rows, "2 a@x.example", "3 b@x.example", "4 reject email: differs between two columns of the same name")
		if !strings.Contains(rows[2].Reject.Cure, `--map email="Email#1"`) {
			t.Errorf("cure %q", rows[2].Reject.Cure)
		}
	})
}

func TestWhatSpreadsheetsPutAroundAValueIsTakenOff(t *testing.T) {
	_, rows := readAll(t, "x.csv", "id,email,phone,title\n\"=\"\"00123\"\"\",a@x.example,'+49 555,'=cmd\n", Options{})
	if l := rows[0].Lead; l.SourceID != "00123" || l.Phone != "+49 555" || l.Title != "=cmd" {
		t.Errorf("lead %+v", l)
	}
}

func TestAStreamThatBreaksGivesItsRowsThenTheError(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, text := range []string{"email,n\na@x.example,\nb@x.exam", "{\"email\":\"a@x.example\"}\n{\"email\":"} {
		r, err := Read(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "x", Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		var last error
		for row, err := range r.Rows(t.Context()) {
			if last = err; err == nil {
				n++
				if row.Lead.Email != "a@x.example" {
					t.Errorf("row %+v", row)
				}
			}
		}
		if n != 1 || !errors.Is(last, broken) {
			t.Errorf("%d rows, then %v", n, last)
		}
	}
}

// anything is a table in which every record is a row.
type anything struct{}

func (anything) fits(*record) bool     { return true }
func (anything) anchored(*record) bool { return false }
func (anything) width() int            { return 0 }

// What encoding/csv writes is read as encoding/csv reads it.
func FuzzWellFormedCSVIsReadAsTheStandardLibraryDoes(f *testing.F) {
	f.Add("a,b", "c\"d", "e\nf", " g ")
	f.Add("", "\r\n", "\"", "ü")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		var buf bytes.Buffer
		w := csv.NewWriter(&buf)
		rows := [][]string{{a, b, "x"}, {c, d, "y"}}
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		want, err := csv.NewReader(bytes.NewReader(buf.Bytes())).ReadAll()
		if err != nil || strings.ContainsAny(a+b+c+d, "\r\ufeff") {
			return // encoding/csv drops a CR before an LF, and knows no lone CR
		}
		s := splitter{w: newWindow(&buf), delim: ',', table: anything{}}
		for _, row := range want {
			rec, fault, _, ok, err := s.next()
			if err != nil || !ok || fault != nil {
				t.Fatalf("no record: %v %v", fault, err)
			}
			got := rec.strings()
			for i := range row {
				if got[i] != row[i] {
					t.Errorf("cell %q, want %q", got[i], row[i])
				}
			}
		}
	})
}
