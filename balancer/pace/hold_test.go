package pace

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A run that is held ends at the limit of its time, and looks no more often until then.
func TestHeldBeyondFor(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		looks := 0
		g := NewGate(Rules{MaxTime: time.Hour}, wall{}, WithHold(func(context.Context, HoldInput) (string, error) {
			looks++
			if looks > 1000 {
				t.Fatal("it looks without end")
			}
			return "an incident", nil
		}))
		began := time.Now()
		err := g.AwaitUnheld(t.Context())
		if took := time.Since(began); !errors.As(err, new(*RunOverError)) || took != time.Hour || looks != int(time.Hour/holdPollInterval)+1 {
			t.Errorf("%v after %v and %d looks", err, took, looks)
		}
	})
}

// Work that goes on for some nights spends no time while a window is shut, however long that
// is, or while it is held.
func TestTimeOfWork(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		window, err := ParseWindow("22:00-06:00 UTC", time.UTC) // a bubble begins at midnight
		if err != nil {
			t.Fatal(err)
		}
		heldUntil := time.Now().Add(2 * time.Hour)
		g := NewGate(Rules{MaxTime: 5 * time.Hour, CountOnlyOpenTime: true, Window: window, PauseBetween: 3 * time.Hour}, wall{},
			WithHold(func(context.Context, HoldInput) (string, error) {
				if time.Now().Before(heldUntil) {
					return "an incident", nil
				}
				return "", nil
			}))
		for i, want := range []time.Duration{2 * time.Hour, 3 * time.Hour} { // at two and at five o'clock
			if waited := mustEnter(t, g, move("a", "b", 1)); waited < want || waited > want+2*holdPollInterval {
				t.Errorf("move %d waited %s", i, waited)
			}
			g.Leave(move("a", "b", 1), nil)
		}
		refused(t, g, move("a", "b", 1), "the limit of 5h is reached")
		g = NewGate(Rules{MaxTime: 5 * time.Hour, SpentBefore: time.Hour, CountOnlyOpenTime: true, Window: window}, wall{})
		time.Sleep(3 * time.Hour) // it is ten: nobody waits for the window before somebody wants something to begin
		if waited := mustEnter(t, g, move("a", "b", 1)); waited < 11*time.Hour {
			t.Errorf("waited %s", waited)
		}
		if spent := g.Spent(); spent != 4*time.Hour {
			t.Errorf("spent %s", spent)
		}
	})
}

// What earlier runs of the same work have moved counts, and so do their time and the pause
// after their last move. Opens lets nothing in.
func TestAfterEarlierRuns(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		window, err := ParseWindow("00:30-20:00 UTC", time.UTC) // a bubble begins at midnight
		if err != nil {
			t.Fatal(err)
		}
		g := NewGate(Rules{
			MaxMoves: 5, MaxBytes: 100, MaxTime: 10 * time.Hour, PauseBetween: time.Hour, Window: window,
			MovedBefore: MovedAmount{Moves: 3, Bytes: 70}, SpentBefore: 8 * time.Hour, FirstPause: 40 * time.Minute,
		}, wall{})
		began := time.Now()
		if err := g.AwaitOpen(t.Context()); err != nil || time.Since(began) != 40*time.Minute {
			t.Errorf("open after %v, %v", time.Since(began), err)
		}
		refused(t, g, move("a", "b", 31), "the limit of 100 B is reached")
		if waited := mustEnter(t, g, move("a", "b", 10)); waited != 0 {
			t.Errorf("waited %v", waited)
		}
		g.Leave(move("a", "b", 10), nil)
		if waited := mustEnter(t, g, move("a", "b", 10)); waited != time.Hour {
			t.Errorf("waited %v", waited)
		}
		g.Leave(move("a", "b", 10), nil)
		refused(t, g, move("a", "b", 1), "the limit of 5 moves is reached")
		if err := g.AwaitOpen(t.Context()); !errors.As(err, new(*RunOverError)) {
			t.Errorf("beyond the time: %v", err)
		}
		if done := g.Moved(); done != (MovedAmount{Moves: 2, Bytes: 20}) {
			t.Errorf("%+v", done)
		}
	})
}
