package store

import (
	"context"
	"errors"
	"testing"
	"time"
)

// endsWithin is how soon after its context everything ends.
const endsWithin = 100 * time.Millisecond

// Whatever computes ends soon after its context, wherever that is.
func TestEverythingEndsWithItsContext(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	s := sizeFor(t, 200_000)
	for _, use := range everyUse() {
		t.Run(use.of, func(t *testing.T) {
			run := use.task(t, s)
			var late time.Duration
			for range 4 { // the machine may be busy
				var err error
				if late, err = endedAfter(run, 15*time.Millisecond); err != nil {
					t.Fatal(err)
				}
				if late <= endsWithin {
					return
				}
			}
			t.Errorf("ended %v after its context", late)
		})
	}
}

// endedAfter runs a task whose context ends after a while, and returns how much
// later the task did.
func endedAfter(run task, while time.Duration) (late time.Duration, err error) {
	cause := errors.New("this is the cause")
	ctx, end := context.WithCancelCause(context.Background())
	begun := time.Now()
	timer := time.AfterFunc(while, func() { end(cause) })
	defer timer.Stop()
	if err := run(ctx); err != nil && !errors.Is(err, cause) {
		return 0, err
	}
	return time.Since(begun) - while, nil
}
