package balancer

import (
	"context"
	"fmt"
	"time"

	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Step is an operation that the loop or its streams request. A driver executes it and passes the result
// to Resume.
type Step interface{ step() }

// Sleep asks to be resumed at Until, or earlier only for a termination. Settings changes do not shorten
// a sleep (rules/01-rounds-and-settings §1.3, sleep rule). Its result is nil.
type Sleep struct{ Until time.Time }

// Moves asks for migrations that run in parallel. No shard takes part in two of them, except in 3.4,
// where the migrations of each collection were chosen independently. The result is a []error of the
// same length and order.
type Moves struct{ Migrations []policy.Migration }

// WaitForWake asks to be resumed when the streams are woken, or at Until unless Until is zero. Its result is
// nil.
type WaitForWake struct{ Until time.Time }

// StartAction asks for a streaming action to be started. Its result is nil and is returned immediately;
// Streams.ActionDone gets the result of the action.
type StartAction struct{ Action policy.StreamAction }

// Call asks for one exchange with the cluster that takes no time worth modelling. The result is the
// result of Do.
type Call struct {
	// Name names the exchange in logs and tests.
	Name string
	// Do runs the exchange; an error is part of the result.
	Do func(ctx context.Context, c Cluster) any
}

// Stopped is the last step: the loop has terminated.
type Stopped struct{}

func (Sleep) step()       {}
func (WaitForWake) step() {}
func (StartAction) step() {}
func (Moves) step()       {}
func (Call) step()        {}
func (Stopped) step()     {}

type callResult[T any] struct {
	value T
	err   error
}

// call yields one exchange and returns its result. It fails with errTerminated if the thread is closed
// instead. If a driver resumes the thread with any value other than the result of Do, call returns an
// error that names the exchange.
func call[T any](t *thread, name string, do func(ctx context.Context, c Cluster) (T, error)) (T, error) {
	step := Call{Name: name, Do: func(ctx context.Context, c Cluster) any {
		var v T
		err := mongoerr.CatchPanic(t.logger, "the balancer's call "+name, func() (err error) {
			v, err = do(ctx, c)
			return err
		})
		return callResult[T]{value: v, err: err}
	}}
	answer, resumed := t.yield(step)
	if !resumed {
		var none T
		return none, errTerminated
	}
	result, ok := answer.(callResult[T])
	if !ok {
		return result.value, fmt.Errorf("balancer: the call %q was resumed with a %T, not with what Do returned", name,
			answer)
	}
	return result.value, result.err
}

// callWithoutValue yields an exchange like call, for exchanges without a value.
func callWithoutValue(t *thread, name string, do func(ctx context.Context, c Cluster) error) error {
	_, err := call(t, name, func(ctx context.Context, c Cluster) (struct{}, error) {
		return struct{}{}, do(ctx, c)
	})
	return err
}
