package live

import "time"

// StandStill is what a process sees that was suspended: time has passed since it last
// renewed its lease.
func (l *LeasedCluster) StandStill(d time.Duration) {
	l.lease.mu.Lock()
	defer l.lease.mu.Unlock()
	l.lease.renewedAt = l.lease.renewedAt.Add(-d)
}
