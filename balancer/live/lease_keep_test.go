package live

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A lease is kept while renewals come through, and given up no later than it may
// have run out.
func TestKeep(t *testing.T) {
	const lasts = time.Minute
	broken := errors.New("no way there")
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, tc := range []struct {
		name  string
		renew func(ctx context.Context, time int) error // the first time is 1
		lost  time.Duration                             // 0 = never
	}{
		{"always renewed", func(context.Context, int) error { return nil }, 0},
		{"two of three get lost", func(_ context.Context, n int) error {
			if n%3 != 0 {
				return broken
			}
			return nil
		}, lasts}, // the third is a minute after the start
		{"every other one gets lost", func(_ context.Context, n int) error {
			if n%2 == 1 {
				return broken
			}
			return nil
		}, 0},
		{"none comes through", func(context.Context, int) error { return broken }, lasts},
		{"each hangs", func(ctx context.Context, _ int) error { return hang(ctx) }, lasts},
		{"the fifth hangs", func(ctx context.Context, n int) error {
			if n == 5 {
				return hang(ctx)
			}
			return nil
		}, lasts*4/3 + lasts},
		{"somebody has it", func(context.Context, int) error { return ErrLeaseLost }, lasts / 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				began, times := time.Now(), 0
				err := keep(ctx, lasts, func(ctx context.Context) error {
					times++
					return tc.renew(ctx, times)
				})
				after := time.Since(began)
				if tc.lost == 0 && (after != time.Hour || errors.Is(err, ErrLeaseLost)) {
					t.Errorf("given up after %v: %v", after, err)
				}
				if tc.lost != 0 && (after != tc.lost || !errors.Is(err, ErrLeaseLost)) {
					t.Errorf("given up after %v, want %v: %v", after, tc.lost, err)
				}
			})
		})
	}
}
