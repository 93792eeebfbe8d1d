// Package testkit starts the real things that tests run against: Redis and
// PostgreSQL servers, this module's own commands, and a proxy that breaks the
// connection to any of them on request.
//
// Every test gets Redis servers, PostgreSQL databases and processes of its own, so
// tests may run in parallel and may stop, kill or flush what they were given. What
// is promised:
//
//   - All traffic stays on the loopback interface, on ports that were free.
//   - Nothing outlives the tests. A server ends with the test that asked for it,
//     and with the test binary if that one is killed (on Linux, where the kernel
//     sees to it).
//   - Signals go to one process by its ID, never to a name.
//   - A missing program fails the test and names the package that brings it.
//     Nothing is skipped: a test that did not run has not passed.
//
// A package that uses testkit hands its TestMain to [Main]:
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
//
// Functions that take a testing.TB, and methods of what they return, report
// trouble through it with Fatal. Like Fatal they must be called from the
// goroutine of the test unless their comment says otherwise.
package testkit
