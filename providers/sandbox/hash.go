package sandbox

import (
	"encoding/binary"
	"hash/fnv"
	"strings"

	"backstop/lead"
)

// hash mixes a seed and some words into a number with which chance is played.
func hash(seed uint64, words ...string) uint64 {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, seed))
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	// FNV leaves the high bits of short inputs alike; this is the finalizer of
	// splitmix64 (https://prng.di.unimi.it/splitmix64.c).
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// pick is the element of list that follows from the words.
func pick[T any](list []T, words ...string) T {
	return list[hash(0, words...)%uint64(len(list))]
}

// key is the one spelling of a person's address.
func key(email string) string { return lead.EmailKey(strings.ToLower(email)) }
