// Package fleet runs the commands as their users do: processes of worker, enqueue
// and the sandbox, a real Redis, and either kind of ledger. It is for the tests of
// whole ways of a lead; what goes wrong on the way is up to the test.
//
//	f := fleet.New(t, fleet.Options{Ledger: fleet.SQLite, Script: "latency: {min: 5ms, max: 20ms}"})
//	f.Workers(3)
//	f.Enqueue("leads.csv", fleet.CSV(1000))
//	books := f.WaitSettled(time.Minute)
//
// Everything of a fleet ends with its test. Its methods must be called from the
// goroutine of the test.
package fleet
