package script

import (
	"context"
	"time"
)

// Clock is the time scripts live in: new Date(), sleep() and timers follow it.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or for the end of ctx, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
}

type wallClock struct{}

// WallClock is the time on the wall.
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

// OnWallClock reports whether a clock's time passes by itself.
func OnWallClock(c Clock) bool {
	_, ok := c.(wallClock)
	return ok
}
