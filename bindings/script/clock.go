package script

import (
	"context"
	"time"
)

// Clock is the clock of scripts: new Date(), sleep() and timers use it.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or for the end of ctx. In the latter case, it returns the error of ctx.
	Sleep(ctx context.Context, d time.Duration) error
}

type wallClock struct{}

// WallClock returns the system's clock.
func WallClock() Clock { return wallClock{} }

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// IsWallClock reports whether a clock is the system's clock.
func IsWallClock(c Clock) bool {
	_, ok := c.(wallClock)
	return ok
}
