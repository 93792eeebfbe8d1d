// Package intake reads what source systems give, CSV and JSON lines, as a
// stream of leads.
//
// Four invariants are kept here:
//
//   - Every row is accounted for. Each comes out as a lead, as a skipped row (with
//     the reason), or as a reject (with line, reason and cure).
//   - A broken row costs itself. A stray quote, a huge cell or a line of bad JSON
//     never takes its neighbours with it where the two can be told apart.
//   - Memory is bounded, whatever is read: no row is kept beyond [MaxRow].
//   - People who opted out or were deleted at the source are skipped.
//
// Where several columns give one field, the first filled one counts, the better
// known header first. Two columns of the very same header that disagree on who
// the lead is (address or source ID) reject the row: either could be the owner's.
//
// How bytes become leads: text (encoding.go) turns any encoding into UTF-8, window
// (window.go) holds the part being looked at, splitter (split.go, broken.go) or
// jsonSource cuts it into rows, a layout (header.go) says which cell is which field,
// and Reader makes leads of them. Errors and reasons never quote a cell.
package intake
