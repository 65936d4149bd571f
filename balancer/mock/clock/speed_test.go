package clock

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// paced returns a clock that goes sixty times as fast, with an event every ten
// seconds. Nobody but the test takes its lock.
func paced(event func()) (k *Clock, start time.Time) {
	start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	k = New(start, false, slog.New(slog.DiscardHandler))
	k.pacing = pacedTime{speed: 60, lastAdvanced: time.Now()}
	k.Every(10*time.Second, func() bool { event(); return true })
	k.catchUp()
	return k, start
}

// Events that take longer than time has for them make time slower: whoever wants
// the lock gets it all the same.
func TestPaceThatIsTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, start := paced(func() { time.Sleep(time.Second) }) // a sixth of a second would do
		for range 20 {
			time.Sleep(500 * time.Millisecond)
			asked := time.Now()
			k.Lock()
			k.Unlock() //nolint:staticcheck // it is about having had it
			if waited := time.Since(asked); waited > 5*time.Second {
				t.Fatalf("the lock came after %v", waited)
			}
		}
		if passed := k.Now().Sub(start); passed < time.Minute {
			t.Errorf("only %v have passed", passed)
		}
	})
}

// A process that stood still for an hour does not make up for two days and a
// half at once.
func TestPaceAfterAStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := 0
		k, start := paced(func() { events++ })
		time.Sleep(time.Hour)
		k.Lock()
		defer k.Unlock()
		if passed := k.Now().Sub(start).Round(time.Second); passed != 70*time.Second || events < 6 || events > 7 {
			t.Errorf("%v have passed with %d events, want those of a second after the event that was due", passed, events)
		}
	})
}
