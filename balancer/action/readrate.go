package action

import (
	"context"
	"time"

	"shardsh/balancer/apply"
)

// readRate limits a read to a number of bytes per second; zero means no limit.
type readRate struct {
	clock             apply.Clock
	maxBytesPerSecond int64
	bytesRead         int64
	since             time.Time
}

// throttle waits if more was read than the rate allows.
func (r *readRate) throttle(ctx context.Context, bytes int64) error {
	const portion = 256 << 10
	if r.bytesRead += bytes; r.maxBytesPerSecond == 0 || r.bytesRead < portion {
		return nil
	}
	now := r.clock.Now()
	due := r.since.Add(time.Duration(float64(r.bytesRead) / float64(r.maxBytesPerSecond) * float64(time.Second)))
	r.bytesRead = 0
	if wait := due.Sub(now); wait > 0 {
		r.since = due
		return r.clock.Sleep(ctx, wait)
	}
	r.since = now
	return nil
}
