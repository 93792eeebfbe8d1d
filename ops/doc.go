// Package ops is what operators do with leads that are in the ledger: count them
// ([Audit]), run them again ([Replayer]), and erase a person ([Eraser]).
package ops
