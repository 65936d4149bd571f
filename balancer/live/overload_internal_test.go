package live

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"shardsh/balancer/mongoerr"
)

// Reads wait for a server that has too much to do, but not for ever, and not beyond their time.
func TestOnceMoreWaitsForOverload(t *testing.T) {
	busy := mongoerr.New(mongoerr.IngressRequestRateLimitExceeded, "slow down")
	synctest.Test(t, func(t *testing.T) {
		read := func(refusals int) (asked int, took time.Duration, err error) {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			_, err = retryRead(ctx, func() (int, error) {
				if asked++; asked <= refusals {
					return 0, busy
				}
				return 1, nil
			})
			return asked, time.Since(began), err
		}
		if asked, took, err := read(5); err != nil || asked != 6 || took > 3100*time.Millisecond {
			t.Errorf("asked %d times in %s: %v", asked, took, err)
		}
		if asked, took, err := read(1000); !errors.Is(err, busy) || asked != maxOverloadRetries+1 || took > 30*time.Second {
			t.Errorf("asked %d times in %s: %v", asked, took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := retryRead(ctx, func() (int, error) { return 0, busy })
		if !errors.Is(err, busy) || time.Since(began) > time.Second {
			t.Errorf("%s: %v", time.Since(began), err)
		}
	})
}
