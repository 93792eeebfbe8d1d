// Package lead says what a lead, a profile, an outcome and a trail are.
//
// It holds the vocabulary that every other package speaks and does no I/O.
// Three invariants are kept here:
//
//   - A lead's ID depends only on what identifies it at its source (source and
//     source ID) or, where those are missing, on the person (the address in its
//     canonical spelling). The same lead read twice has the same ID.
//   - Merging fills blanks. A value that is there is never replaced by an empty
//     one, and every field of a profile has an [Origin].
//   - Outcomes are ordered ([Outcome.Score]): suppressed over enriched over
//     partial over rejected. A later outcome may rise in that order, never fall.
package lead
