// Package lead says what a lead, a profile, an outcome and a trail are.
//
// It holds the vocabulary that every other package speaks and does no I/O.
// Three invariants are kept here:
//
//   - A lead's ID depends only on what identifies it at its source (source and
//     source ID) or, where those are missing, on the person (the address in its
//     canonical spelling). The same lead read twice has the same ID.
//   - Every field of a profile has an [Origin], and every origin a field.
//   - Merging ([Facts.Merge]) fills blanks and replaces a value only by a better one,
//     never by an empty, an older or an undated one. What the lead came with stays,
//     unless the configuration lets providers overwrite it. An address and its state
//     are of one statement about one mailbox, and what is known of a person's work is
//     of one company. What was not taken is reported.
//   - Outcomes are ordered ([Outcome.Score]): suppressed over enriched over
//     partial. A later outcome may rise in that order, never fall.
package lead
