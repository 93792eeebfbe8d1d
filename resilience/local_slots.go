package resilience

import "time"

// slots hands out the times at which calls may start. No window of any limit
// has more slots than its rate.
type slots struct {
	limits []Limit // as configured
	share  int

	parts   []Limit // what this replica may use of them
	spacing time.Duration
	longest int // of the rates, all of whose slots must be remembered
	used    []time.Time

	factor    float64 // of the rate, as it was …
	factorAt  time.Time
	loweredAt time.Time
}

func newSlots(limits []Limit, share int) *slots {
	s := &slots{limits: limits, factor: 1}
	s.divide(share)
	return s
}

// divide makes the limits shared by n replicas.
func (s *slots) divide(n int) {
	if s.share == n {
		return
	}
	s.share = n
	s.parts = make([]Limit, 0, len(s.limits))
	s.longest = 0
	for _, l := range s.limits {
		part := Limit{Rate: l.Rate / n, Per: l.Per}
		if part.Rate == 0 {
			// Less than one call each in a window: one in several.
			part = Limit{Rate: 1, Per: l.Per * time.Duration(n) / time.Duration(l.Rate)}
		}
		s.parts = append(s.parts, part)
		s.longest = max(s.longest, part.Rate)
	}
	s.spacing = Spacing(s.limits) * time.Duration(n)
}

// next is the first time from now on at which a call may start.
func (s *slots) next(now time.Time) time.Time {
	if len(s.parts) == 0 || len(s.used) == 0 {
		return now
	}
	f := s.part(now)
	slot := later(now, s.used[len(s.used)-1].Add(time.Duration(float64(s.spacing)/f)))
	for _, l := range s.parts {
		rate := max(int(f*float64(l.Rate)), 1)
		if i := len(s.used) - rate; i >= 0 {
			slot = later(slot, s.used[i].Add(l.Per+l.Guard()))
		}
	}
	return slot
}

// take records that a call starts at t.
func (s *slots) take(t time.Time) {
	if len(s.parts) == 0 {
		return
	}
	if n := len(s.used); n > 0 {
		t = later(t, s.used[n-1])
	}
	s.used = append(s.used, t)
	if len(s.used) > 2*s.longest+16 {
		s.used = append(s.used[:0], s.used[len(s.used)-s.longest:]...)
	}
}

// giveBack frees a slot that will not be used, if no later one was handed out.
func (s *slots) giveBack(slot time.Time) {
	if n := len(s.used); n > 0 && s.used[n-1].Equal(slot) {
		s.used = s.used[:n-1]
	}
}

// spent counts the slots in the longest window that ends now.
func (s *slots) spent(now time.Time) int {
	var per time.Duration
	for _, l := range s.limits {
		per = max(per, l.Per)
	}
	n := 0
	for i := len(s.used) - 1; i >= 0 && now.Sub(s.used[i]) < per; i-- {
		n++
	}
	return n
}

// part is the part of the rate that is allowed now.
func (s *slots) part(now time.Time) float64 {
	return min(1, s.factor+Climb*max(0, now.Sub(s.factorAt).Seconds()))
}

// slow lowers the rate, but not twice for one burst of answers.
func (s *slots) slow(now time.Time) {
	if !s.loweredAt.IsZero() && now.Sub(s.loweredAt) < SlowEvery {
		return
	}
	s.factor = max(s.part(now)*SlowBy, MinRate)
	s.factorAt, s.loweredAt = now, now
}

// rate is the number of calls a second that are allowed now; 0: unlimited.
func (s *slots) rate(now time.Time) float64 {
	return PerSecond(s.limits) / float64(max(s.share, 1)) * s.part(now)
}
