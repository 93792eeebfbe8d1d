//go:build !race

package testkit

// raceDetector says whether the tests were built with -race.
const raceDetector = false
