package live

import (
	"context"
	"errors"
	"time"
)

// releasing is how long giving a lease back may take. It runs out by itself.
const releasing = 5 * time.Second

// Keep renews the lease until leave is called, which gives it back. The context
// ends when the lease is lost, with ErrLeaseLost for its cause: what only the
// holder may do is done in this context, and its steps after a Renew of their own.
func (l *Lease) Keep(ctx context.Context) (held context.Context, leave func(context.Context) error) {
	held, lose := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		lose(keep(held, l.o.For, l.Renew))
	}()
	return held, func(ctx context.Context) error {
		lose(context.Canceled)
		<-done
		leaving, cancel := context.WithTimeout(ctx, releasing)
		defer cancel()
		return l.Release(leaving)
	}
}

// keep renews three times in the time that a renewal lasts. Nobody compares
// clocks: when a renewal was asked for, it had not run out before that much time
// went by here.
func keep(ctx context.Context, lasts time.Duration, renew func(context.Context) error) error {
	tick := time.NewTicker(lasts / 3)
	defer tick.Stop()
	sure := time.Now()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		asked := time.Now()
		left := lasts - asked.Sub(sure)
		if left <= 0 {
			return ErrLeaseLost
		}
		asking, cancel := context.WithTimeout(ctx, left)
		err := renew(asking)
		cancel()
		switch {
		case err == nil:
			sure = asked
		case errors.Is(err, ErrLeaseLost):
			return err
		}
	}
}
