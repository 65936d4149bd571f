package live

import (
	"context"
	"testing"

	"shardsh/balancer/mongoerr"
)

// A panic in one of those that read at the same time is the reading's error.
func TestAPanicInParallelIsAnError(t *testing.T) {
	err := inParallel(t.Context(), 3, []int{1, 2, 3, 4}, func(_ context.Context, n int) error {
		if n == 2 {
			panic("boom")
		}
		return nil
	})
	if !mongoerr.Is(err, mongoerr.InternalError) {
		t.Errorf("it ends with %v", err)
	}
}
