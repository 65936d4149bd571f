package pace

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// Moves are let in again after 100 ms, 200 ms and so on, up to 10 s, as drivers wait; somebody
// is told once, and once that it goes on.
func TestOverload(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		var told []string
		g := NewGate(Rules{}, wall{}, WithEvents(func(e Event) { told = append(told, e.Text) }))
		g.random = func() float64 { return 1 }
		err := mongoerr.New(mongoerr.IngressRequestRateLimitExceeded, "slow down")
		if waited := mustEnter(t, g, move("a", "b", 1)); waited != 0 {
			t.Errorf("waited %s", waited)
		}
		for i, ms := range []int{100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000} {
			if !g.MustReenter(t.Context(), err) {
				t.Fatal("it is a failure")
			}
			g.Leave(move("a", "b", 1), ErrNotBegun)
			if waited := mustEnter(t, g, move("a", "b", 1)); waited != time.Duration(ms)*time.Millisecond {
				t.Errorf("after %d: waited %s, want %d ms", i+1, waited, ms)
			}
		}
		g.Leave(move("a", "b", 1), nil)
		if len(told) != 2 || !strings.Contains(told[0], "too busy to balance: slow down") || !strings.Contains(told[1], "32 s") &&
			!strings.Contains(told[1], "32s") {
			t.Errorf("told %q", told)
		}
		// What is not a move waits, too, and the server may name the delay.
		err.Extra = bson.D{{Key: "baseBackoffMS", Value: int32(3000)}}
		began := time.Now()
		if !g.MustReenter(t.Context(), err) || g.AwaitUnheld(t.Context()) != nil || time.Since(began) != 3*time.Second {
			t.Errorf("waited %s", time.Since(began))
		}
		if g.MustReenter(t.Context(), mongoerr.New(mongoerr.TemporarilyUnavailable, "x")) {
			t.Error("another error is not an overload")
		}
	})
}
