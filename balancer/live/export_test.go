package live

import "time"

// StandStill is what a process sees that was suspended: time has passed since it last
// renewed its lease.
func (t *LeasedCluster) StandStill(d time.Duration) {
	t.lease.mu.Lock()
	defer t.lease.mu.Unlock()
	t.lease.renewedAt = t.lease.renewedAt.Add(-d)
}
