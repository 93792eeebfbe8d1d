package sandbox

import "time"

// A window is the times of the calls of its length up to now. It is exact: a
// call that is as old as the window is long has left it.
type window struct {
	length time.Duration
	times  []time.Time // ascending
}

// at drops what has left the window by now and returns how many are in it.
func (w *window) at(now time.Time) int {
	i := 0
	for i < len(w.times) && now.Sub(w.times[i]) >= w.length {
		i++
	}
	w.times = w.times[i:]
	return len(w.times)
}

// add puts a call into the window and returns how many are in it.
func (w *window) add(now time.Time) int {
	w.at(now)
	w.times = append(w.times, now)
	return len(w.times)
}

// frees is when the oldest call leaves the window.
func (w *window) frees() time.Time {
	if len(w.times) == 0 {
		return time.Time{}
	}
	return w.times[0].Add(w.length)
}
