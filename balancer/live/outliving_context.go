package live

import (
	"context"
	"time"
)

// OutlivingContext returns a context for cleanup work after the end of a run, such as recording sent
// commands. It has the values of ctx and ends the time most after end has ended, so that the process
// does not wait for a cluster that does not answer.
func OutlivingContext(ctx, end context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(end, func() { time.AfterFunc(most, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}
