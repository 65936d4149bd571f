package mock

import (
	"context"
	"time"
)

// paceTick is how often virtual time with a pace moves on.
const paceTick = 5 * time.Millisecond

// keepPace lets virtual time go by on its own, so many times as fast as real
// time, until ctx ends. Whoever waits still makes it jump.
func (c *Cluster) keepPace(ctx context.Context, pace float64) {
	ticker := time.NewTicker(paceTick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			c.mu.Lock()
			c.Spend(time.Duration(pace * float64(now.Sub(last))))
			c.mu.Unlock()
			last = now
		}
	}
}
