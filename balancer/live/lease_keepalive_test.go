package live

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// A lease is kept while renewals come through, is in doubt no later than it may have
// run out, and asked for again until somebody has it.
func TestKeep(t *testing.T) {
	const lasts = time.Minute
	broken := errors.New("no way there")
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, tc := range []struct {
		name  string
		renew func(ctx context.Context, time int) error // the first time is 1
		doubt time.Duration                             // from when on; 0 = never
		lost  time.Duration                             // 0 = never
		times int                                       // of doubt, in an hour
	}{
		{"always renewed", func(context.Context, int) error { return nil }, 0, 0, 0},
		{"two of three get lost", func(_ context.Context, n int) error {
			if n%3 != 0 {
				return broken
			}
			return nil
		}, 0, 0, 0}, // the third is in time
		{"three of four get lost", func(_ context.Context, n int) error {
			if n%4 != 0 {
				return broken
			}
			return nil
		}, lasts, 0, 45},
		{"none comes through", func(context.Context, int) error { return broken }, lasts, 0, 177},
		{"each hangs", func(ctx context.Context, _ int) error { return hang(ctx) }, lasts, 0, 177},
		{"the fifth hangs", func(ctx context.Context, n int) error {
			if n == 5 {
				return hang(ctx)
			}
			return nil
		}, lasts*4/3 + lasts, 0, 1},
		{"somebody has it", func(context.Context, int) error { return ErrLeaseLost }, 0, lasts / 3, 0},
		{"somebody has it after a while", func(_ context.Context, n int) error {
			if n < 12 {
				return broken
			}
			return ErrLeaseLost
		}, lasts, 4 * lasts, 9},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), time.Hour-time.Second)
				defer stop()
				began, times, doubts := time.Now(), 0, 0
				var doubt time.Duration
				renewedAt := began
				age := func() time.Duration { return time.Since(renewedAt) }
				err := renewLoop(ctx, lasts, age, func(ctx context.Context) error {
					times++
					asked := time.Now()
					err := tc.renew(ctx, times)
					if err == nil {
						renewedAt = asked
					}
					return err
				}, func() {
					if doubts++; doubts == 1 {
						doubt = time.Since(began)
					}
				})
				after := time.Since(began)
				if lost := errors.Is(err, ErrLeaseLost); lost != (tc.lost != 0) || lost && after != tc.lost {
					t.Errorf("ended after %v: %v", after, err)
				}
				if doubt != tc.doubt || doubts != tc.times {
					t.Errorf("in doubt after %v, want %v; %d times, want %d", doubt, tc.doubt, doubts, tc.times)
				}
			})
		})
	}
}

// The lease counts from its acquisition, which may have been some time before KeepAlive.
func TestKeepAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		defer stop()
		began, doubt := time.Now(), time.Duration(0)
		broken := errors.New("no way there")
		age := func() time.Duration { return 40*time.Second + time.Since(began) }
		_ = renewLoop(ctx, time.Minute, age, func(context.Context) error { return broken }, func() {
			doubt = time.Since(began)
		})
		if doubt != 20*time.Second {
			t.Errorf("in doubt after %v", doubt)
		}
	})
}

// What is under way is given up when the lease may have run out, and what begins after
// that when a renewal fails the next time.
func TestDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Lease{options: LeaseOptions{Duration: time.Minute}, renewedAt: time.Now()}
		l.unexpiredCtx, l.cancelUnexpired = context.WithCancel(context.Background())
		a := abortableRunner{hanging{}, l}
		ended := func() <-chan error {
			done := make(chan error, 1)
			go func() {
				_, err := a.RunCommand(t.Context(), "admin", nil)
				done <- err
			}()
			return done
		}
		first := ended()
		time.Sleep(59 * time.Second)
		l.cancelUnlessRenewed()
		synctest.Wait()
		if len(first) != 0 {
			t.Fatal("given up while the lease holds")
		}
		time.Sleep(time.Second)
		l.cancelUnlessRenewed()
		if err := <-first; !errors.As(err, new(*mongoerr.UnansweredError)) {
			t.Errorf("given up with %v", err)
		}
		second := ended()
		synctest.Wait()
		if len(second) != 0 {
			t.Fatal("nothing can be asked in doubt")
		}
		l.cancelUnlessRenewed()
		if err := <-second; !errors.As(err, new(*mongoerr.UnansweredError)) {
			t.Errorf("given up with %v", err)
		}
	})
}

// hanging never answers.
type hanging struct{ CommandRunner }

func (hanging) RunCommand(ctx context.Context, _ string, _ bson.D) (bson.Raw, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
