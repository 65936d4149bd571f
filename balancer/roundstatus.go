package balancer

import "sync"

// roundStatus records whether a round is in progress, and how many rounds have ended.
type roundStatus struct {
	mu       *sync.Mutex // of the loop
	status   Status
	onChange func() // nil or called after each change, without the lock
}

func (s *roundStatus) get() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

func (s *roundStatus) begin() { s.change(func(now *Status) { now.InRound = true }) }

func (s *roundStatus) end() {
	s.change(func(now *Status) {
		now.InRound = false
		now.Rounds++
	})
}

func (s *roundStatus) change(update func(*Status)) {
	s.mu.Lock()
	update(&s.status)
	s.mu.Unlock()
	if s.onChange != nil {
		s.onChange()
	}
}
