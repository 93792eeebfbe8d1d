package ledger_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"backstop/lead"
	"backstop/ledger"
)

// The tests of several processes start this binary again with these variables.
const (
	childWork  = "LEDGER_TEST_CHILD"
	childURL   = "LEDGER_TEST_URL"
	childFirst = "LEDGER_TEST_FIRST"
)

// runAsChild does the work of a child process if this is one.
func runAsChild() bool {
	work := map[string]func(context.Context, *ledger.Ledger) error{"write": childWrites, "settle": childSettles}[os.Getenv(childWork)]
	if work == nil {
		return false
	}
	ctx := context.Background()
	l, err := ledger.Open(ctx, os.Getenv(childURL), ledger.Options{})
	if err == nil {
		err = work(ctx, l)
	}
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	if err := l.Close(); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("done")
	return true
}

const (
	childLeads   = 40
	sharedLeadID = 0 // the number of the lead that all children settle too
)

// childWrites accepts and settles leads of its own, one transaction each, and the
// shared one every time.
func childWrites(ctx context.Context, l *ledger.Ledger) error {
	var first int
	if _, err := fmt.Sscan(os.Getenv(childFirst), &first); err != nil {
		return err
	}
	for i := range childLeads {
		entry := lead.TrailEntry{Attempt: 1, Provider: "p", Detail: fmt.Sprint(first + i)} // another one each time
		leads := []lead.Lead{numbered(first + i), numbered(sharedLeadID)}
		accepted, err := l.Accept(ctx, leads)
		if err != nil {
			return err
		}
		for _, a := range accepted {
			s := settled(a.LeadID)
			s.Trail = []lead.TrailEntry{entry}
			if _, err := l.Settle(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// childSettles settles a lead, says so and waits to be killed.
func childSettles(ctx context.Context, l *ledger.Ledger) error {
	accepted, err := l.Accept(ctx, []lead.Lead{numbered(1)})
	if err != nil {
		return err
	}
	if _, err := l.Settle(ctx, settled(accepted[0].LeadID)); err != nil {
		return err
	}
	fmt.Println("settled")
	_, err = io.Copy(io.Discard, os.Stdin) // the parent never closes it
	return err
}

func numbered(n int) lead.Lead {
	return lead.Lead{Source: "crm", SourceID: fmt.Sprint(n), Name: fmt.Sprint("Person ", n)}
}

func settled(leadID string) ledger.Settlement {
	return ledger.Settlement{LeadID: leadID, Generation: 1, Status: lead.StatusPartial, Trail: []lead.TrailEntry{{Attempt: 1, Provider: "p"}}}
}

// child is this test binary as another process.
func child(t *testing.T, work, url string, first int) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childWork+"="+work, childURL+"="+url, childFirst+"="+fmt.Sprint(first))
	cmd.Stderr = os.Stderr
	return cmd
}

func TestProcessesThatOpenAnEmptyLedgerAtOnceAllWrite(t *testing.T) {
	const processes = 3
	for name, newURL := range databases {
		t.Run(name, func(t *testing.T) {
			url := newURL(t)
			failures := make(chan string)
			for i := range processes {
				go func() {
					out, err := child(t, "write", url, 1+i*childLeads).Output()
					if err != nil || strings.TrimSpace(string(out)) != "done" {
						failures <- fmt.Sprintf("process %d: %v: %s", i, err, out)
						return
					}
					failures <- ""
				}()
			}
			for range processes {
				if failure := <-failures; failure != "" {
					t.Error(failure)
				}
			}
			l := open(t, url, ledger.Options{})
			counts, err := l.Counts(t.Context())
			if want := int64(processes*childLeads + 1); err != nil || counts.Accepted != want || counts.Live != 0 {
				t.Errorf("%+v, %v, want %d leads, all settled", counts, err, want)
			}
			shared, err := l.Outcome(t.Context(), numbered(sharedLeadID).ID())
			if err != nil || len(shared.Trail) != processes*childLeads {
				t.Errorf("the shared lead has %d trail entries (%v), want %d", len(shared.Trail), err, processes*childLeads)
			}
		})
	}
}

func TestWhatWasSettledOutlivesAKilledProcess(t *testing.T) {
	for name, newURL := range databases {
		t.Run(name, func(t *testing.T) {
			url := newURL(t)
			cmd := child(t, "settle", url, 0)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, readErr := bufio.NewReader(stdout).ReadString('\n')
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the process ended by itself")
			}
			_ = stdin.Close() // Wait has closed it
			if line != "settled\n" {
				t.Fatalf("the process said %q (%v)", line, readErr)
			}
			o, err := open(t, url, ledger.Options{}).Outcome(t.Context(), numbered(1).ID())
			if err != nil || o.Status != lead.StatusPartial || len(o.Trail) != 1 {
				t.Errorf("got %+v, %v, want the outcome", o, err)
			}
		})
	}
}
