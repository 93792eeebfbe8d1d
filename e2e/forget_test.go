package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"backstop/intake"
	"backstop/ops"
)

// A person who asks to be forgotten is, with everything in every spelling, and does
// not come back with the next import.
func TestAPersonIsForgotten(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			f := newFleet(t, kind, "{}", "BACKSTOP_SECRET=a secret of the whole fleet")
			w := f.workers(1)[0]
			f.run(0, enqueuePackage, "file", f.write("crm.csv", "Record ID,Email,Name\n1,zenobia@acme.example,Zenobia Quill\n2,Zenobia+web@ACME.example,\n3,ann@two.example,Ann Lee\n"))
			f.run(0, enqueuePackage, "directory", f.write("people.csv", "email,title\nzenobia@acme.example,Head of Quills\n"))
			f.settled(time.Minute)
			stopped(t, w)
			f.run(0, enqueuePackage, "file", f.write("web.csv", "Record ID,Email\n9,zenobia@acme.example\n"))

			if got := f.run(0, enqueuePackage, "forget", "ZENOBIA@acme.example", "--dry-run"); !strings.Contains(got, "would erase 3 leads") {
				t.Errorf("the dry run says %q", got)
			}
			sum := decode[ops.Erased](t, f.run(0, enqueuePackage, "forget", "ZENOBIA@acme.example", "--json"))
			if sum.Leads != 3 || sum.Outcomes != 2 || sum.Directory != 1 || sum.Tasks != 1 || sum.Answers == 0 || !sum.Remembered {
				t.Errorf("it says %+v", sum)
			}
			again := decode[intake.Summary](t, f.run(0, enqueuePackage, "file", "--json",
				f.write("again.csv", "Record ID,Email\n1,zenobia@acme.example\n5,zenobia+x@acme.example\n6,bo@three.example\n")))
			if want := (intake.Summary{Read: 3, Accepted: 1, Skipped: 2}); again != want {
				t.Errorf("the next import: %+v, want %+v", again, want)
			}
			if b := f.audit(); b.Accepted != 2 || b.Unaccounted != 0 {
				t.Errorf("the books: %+v", b)
			}
			f.run(1, enqueuePackage, "trace", "zenobia@acme.example")
			f.run(2, enqueuePackage, "forget", "zenobia")
			if kind == "sqlite" {
				f.checkFiles("zenobia", "quill")
			}
		})
	}
}

// checkFiles looks through the bytes of the ledger's files.
func (f *fleet) checkFiles(words ...string) {
	f.t.Helper()
	for _, kv := range f.env {
		path, ok := strings.CutPrefix(kv, "BACKSTOP_LEDGER__URL=sqlite://")
		if !ok {
			continue
		}
		files, err := filepath.Glob(path + "*")
		if err != nil || len(files) == 0 {
			f.t.Fatalf("no files at the ledger's place: %v", err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.t.Fatal(err)
			}
			for _, w := range words {
				if strings.Contains(strings.ToLower(string(b)), w) {
					f.t.Errorf("%s still has %q", filepath.Base(file), w)
				}
			}
		}
	}
}
