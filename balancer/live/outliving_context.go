package live

import (
	"context"
	"time"
)

// OutlivingContext returns a context for cleanup work after the end of a run, such as recording
// what was sent. It has the values of ctx, and ends some time after end does, so that a
// cluster that does not answer holds nobody up.
func OutlivingContext(ctx, end context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(end, func() { time.AfterFunc(most, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}
