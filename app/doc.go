// Package app is what the commands share: reading the configuration, opening
// Redis, the ledger, the gate and the chain from it, and ending with the right
// exit code. It holds no decision about leads.
package app
