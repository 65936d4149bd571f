package balancer

import (
	"context"
	"sync"
	"time"
)

// Run turns the loop on real time until ctx ends. It blocks; it starts one
// goroutine for each migration under way and waits for all of them before it
// returns.
func Run(ctx context.Context, l *Loop, c Cluster) {
	defer l.Close()
	stop := context.AfterFunc(ctx, l.Terminate)
	defer stop()

	var result any
	for {
		switch step := l.Resume(time.Now(), result).(type) {
		case Stopped:
			return
		case Sleep:
			result = nil
			sleepUntil(ctx, step.Until)
		case Call:
			result = step.Do(ctx, c)
		case Moves:
			result = moveAll(ctx, c, step)
		}
	}
}

func sleepUntil(ctx context.Context, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func moveAll(ctx context.Context, c Cluster, step Moves) []error {
	results := make([]error, len(step.Migrations))
	var wg sync.WaitGroup
	for i, m := range step.Migrations {
		wg.Go(func() { results[i] = c.Move(ctx, m) })
	}
	wg.Wait()
	return results
}
