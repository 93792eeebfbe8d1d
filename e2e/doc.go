// Package e2e tests the commands as their users run them: separate processes of
// worker, enqueue and the sandbox, a real Redis, and both kinds of ledger. It
// holds only tests.
package e2e
