// Package cache keeps what providers said, for the whole fleet and for a while,
// so that no answer is paid for twice: [Store] is [chain.Cache] on Redis.
//
// It keeps these promises:
//
//   - An answer is kept before anything else happens with it. A worker that dies
//     the moment after leaves it to whoever takes the lead up again.
//   - Only final answers are kept: data, for the provider's positive age, and valid
//     negatives, for its negative age. Nothing is used beyond its age. What was ordered
//     and is not done yet is kept as its ticket, for some minutes, so that others fetch
//     it instead of ordering it again.
//   - Of all that ask the same at the same time, in all replicas, one makes the
//     call and the others get its answer. One that dies is waited for no longer
//     than its lease; one that gets no final answer makes way for the next.
//   - Nobody waits longer than they said. Who waited in vain makes a call of
//     their own: a second payment is better than a lead that stands still.
//   - Without Redis nobody waits for other replicas, and no answer is lost: it is
//     used, but not kept, which is logged and told to Options.NotKept.
//   - Keys and values hold nothing of a person in the clear. Keys are HMAC-SHA256;
//     values are AES-256-GCM and open only under the key that they were stored at.
//   - [Store.Forget] removes everything about a person, in every spelling of their
//     address, and what is under way about them is not kept. It says when there may
//     be more that its secret cannot find ([chain.ErrOtherSecret]).
//
// # Keys
//
// With the prefix "backstop", p and q being keyed hashes of the person and of the
// whole question. All of one person's are in one hash slot of a cluster:
//
//	backstop:answers:{p}:q       string  its age; an answer
//	backstop:answers:{p}:q:lock  string  the lease; who makes the call
//	backstop:answers:{p}:all     set     the longest of their ages; the person's answers
//	backstop:answers:{p}:gone    string  the longest lease; the person was forgotten
//	backstop:answers:marks       zset    the longest age; which secrets are in use
//	backstop:answers:secret      string  for ever; only when no secret is configured
//
// # The secret
//
// With a secret of its own, which the workers are given and Redis never sees,
// who reads all of Redis learns how many people were asked about, when, and about
// how long the answers are; not who they are, nor whether a given person is among
// them. Without one, a random secret is made once and kept in Redis. It protects
// what gets out by itself (names of keys in a slow log, one dumped value), but
// not from somebody who can read all of Redis.
//
// A changed or lost secret costs what was kept, nothing else.
package cache
