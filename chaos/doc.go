// Package chaos injects faults into whole fleets: real worker processes, a real
// Redis, SQLite or a real PostgreSQL, and the sandbox, with a proxy between any two
// of them. It holds only tests.
//
// Each fault has one scenario, with a seed that decides whom it hits and when. A
// scenario enqueues its leads, injects its faults while leads are under way, waits
// until all are settled, and then holds the export, the audit, the workers' logs
// and the sandbox's own books against each other. Required of every one:
//
//   - No lead is missing: as many outcomes are exported as enqueue accepted.
//   - No outcome is doubled: none became a lead's outcome twice, unless better.
//   - No more paid calls are repeated than were under way when the faults struck.
//   - 60 s and a lead's own budget after the last fault, no lead is open.
//
// By default the scenarios run with few faults each; CHAOS=full in the environment
// injects the full number. With CHAOS_OUT=FOLDER the results are written there as
// chaos.md and chaos.json. CHAOS_SEED=N plays other seeds than the usual ones.
package chaos
