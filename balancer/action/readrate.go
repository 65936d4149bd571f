package action

import (
	"context"
	"time"

	"shardsh/balancer/apply"
)

// readRate holds a read to a number of bytes a second; zero means no limit.
type readRate struct {
	clock apply.Clock
	most  int64
	read  int64
	since time.Time
}

// slow waits so that no more is read.
func (r *readRate) slow(ctx context.Context, bytes int64) error {
	const portion = 256 << 10
	if r.read += bytes; r.most == 0 || r.read < portion {
		return nil
	}
	now := r.clock.Now()
	due := r.since.Add(time.Duration(float64(r.read) / float64(r.most) * float64(time.Second)))
	r.read = 0
	if wait := due.Sub(now); wait > 0 {
		r.since = due
		return r.clock.Sleep(ctx, wait)
	}
	r.since = now
	return nil
}
