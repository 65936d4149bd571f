package balancer

import (
	"context"
	"fmt"
	"time"

	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Step is what the loop or its streams want done next. A driver carries it out
// and hands the result to Resume.
type Step interface{ step() }

// Sleep asks to be resumed at Until, or earlier only to terminate. Settings
// changes do not shorten it (rules/01-rounds-and-settings §1.3, sleep rule). Its result is nil.
type Sleep struct{ Until time.Time }

// Moves asks for migrations that run side by side; no shard takes part in two
// of them, but for those of 3.4, which chose for each collection on its own.
// The result is a []error of the same length and order.
type Moves struct{ Migrations []policy.Migration }

// Wait asks to be resumed when the streams are woken, or at Until unless that
// is zero. Its result is nil.
type Wait struct{ Until time.Time }

// Act asks for a streaming action to be started. Its result is nil, at once;
// how the action ends goes to Streams.Done.
type Act struct{ Action policy.StreamAction }

// Call asks for one exchange with the cluster that takes no time worth
// modelling. The result is what Do returns.
type Call struct {
	// Name says what the exchange is, for logs and tests.
	Name string
	// Do runs the exchange; its error travels inside the result.
	Do func(ctx context.Context, c Cluster) any
}

// Stopped is the last step: the loop has terminated.
type Stopped struct{}

func (Sleep) step()   {}
func (Wait) step()    {}
func (Act) step()     {}
func (Moves) step()   {}
func (Call) step()    {}
func (Stopped) step() {}

type callResult[T any] struct {
	value T
	err   error
}

// call yields one exchange and returns its result. It fails with errTerminated
// when the thread is being torn down instead. A driver that resumes with
// anything but what Do returned is mistaken: the error names the exchange.
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

// run is call for exchanges without a value.
func run(t *thread, name string, do func(ctx context.Context, c Cluster) error) error {
	_, err := call(t, name, func(ctx context.Context, c Cluster) (struct{}, error) {
		return struct{}{}, do(ctx, c)
	})
	return err
}
