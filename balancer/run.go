package balancer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Run runs the loop and its streams in real time until ctx ends. It blocks. It starts one goroutine for
// the streams and one for each migration and action in progress, and waits for all of them before it
// returns.
func Run(ctx context.Context, l *Loop, c ConcurrentCluster) {
	defer l.Close()
	stop := context.AfterFunc(ctx, l.Terminate)
	defer stop()

	var streams sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	streams.Go(func() {
		_ = mongoerr.CatchPanic(l.logger, "the streams of the balancer", func() error { // CatchPanic has logged the panic
			runStreams(ctx, l.Streams(), c)
			return nil
		})
	})
	defer cancel()
	defer streams.Wait()
	stopped := false
	defer func() {
		if !stopped { // after a panic, nothing else would stop the streams
			cancel()
			l.Terminate()
		}
	}()

	var result any
	for {
		if ctx.Err() != nil { // the callback on the end of ctx may run only later, and a sleep returns at once now
			l.Terminate()
		}
		switch step := l.Resume(time.Now(), result).(type) {
		case Stopped:
			stopped = true
			return
		case Sleep:
			result = nil
			sleepUntil(ctx, step.Until)
		case Call:
			c.WithCluster(func(c Cluster) { result = step.Do(ctx, c) })
		case Moves:
			result = moveAll(ctx, l.logger, c, step)
		}
	}
}

func runStreams(ctx context.Context, s *Streams, c ConcurrentCluster) {
	woken := make(chan struct{}, 1)
	s.OnWake(func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	var actions sync.WaitGroup
	defer actions.Wait()

	var result any
	for {
		switch step := s.Resume(time.Now(), result).(type) {
		case Stopped:
			return
		case Sleep:
			sleepUntil(ctx, step.Until)
			result = nil
		case WaitForWake:
			waitUntil(ctx, woken, step.Until)
			result = nil
		case Call:
			c.WithCluster(func(c Cluster) { result = step.Do(ctx, c) })
		case StartAction:
			actions.Go(func() {
				ended := runAction(ctx, s.logger, c, step.Action)
				c.WithCluster(func(c Cluster) { s.ActionDone(ctx, c, step.Action, ended) })
			})
			result = nil
		}
	}
}

func runAction(
	ctx context.Context,
	log *slog.Logger,
	c ConcurrentCluster,
	a policy.StreamAction,
) (result policy.StreamActionResult) {
	err := mongoerr.CatchPanic(log, "an action of the balancer", func() error {
		result = c.Act(ctx, a)
		return nil
	})
	if err != nil {
		result.Err = err
	}
	return result
}

func sleepUntil(ctx context.Context, until time.Time) { waitUntil(ctx, nil, until) }

// waitUntil waits for a time, for a signal, or for the end of ctx. A zero time means no time limit.
func waitUntil(ctx context.Context, signal <-chan struct{}, until time.Time) {
	var due <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-signal:
	case <-ctx.Done():
	}
}

func moveAll(ctx context.Context, log *slog.Logger, c ConcurrentCluster, step Moves) []error {
	results := make([]error, len(step.Migrations))
	var wg sync.WaitGroup
	for i, m := range step.Migrations {
		wg.Go(func() {
			results[i] = mongoerr.CatchPanic(log, "a migration", func() error { return c.Move(ctx, m) })
		})
	}
	wg.Wait()
	return results
}
