package apply

import (
	"context"
	"errors"
	"testing"
	"time"

	"shardsh/balancer/mongoerr"
)

// immediate is a clock on which waiting takes no time.
type immediate struct{}

func (immediate) Now() time.Time                                   { return time.Time{} }
func (immediate) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// A router that rejects requests since it is overloaded has answered: it is waited for when it becomes
// unreachable, each time with an event, whose receiver may send requests.
func TestOverloadIsAnAnswer(t *testing.T) {
	overloaded := mongoerr.New(mongoerr.IngressRequestRateLimitExceeded, "slow down")
	gone := &mongoerr.UnansweredError{Cause: errors.New("the connection broke")}
	told := 0
	r := &retryingCluster{clock: immediate{}}
	r.onUnreachable = func(error) {
		told++
		if !r.mu.TryLock() {
			t.Error("the mutex is held")
			return
		}
		r.mu.Unlock()
	}
	replies := []error{overloaded, gone, gone, overloaded, gone, nil}
	asked := 0
	err := r.retry(t.Context(), func() error { asked++; return replies[asked-1] })
	if err != nil || asked != len(replies) || told != 2 {
		t.Errorf("asked %d times, told %d times, %v", asked, told, err)
	}
}
