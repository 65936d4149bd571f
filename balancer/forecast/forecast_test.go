package forecast_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/plan"
	"shardsh/balancer/sim"
)

func of(t *testing.T, s *catalog.Snapshot, o forecast.Options) forecast.Forecast {
	t.Helper()
	f, err := forecast.Make(s, o)
	if err != nil {
		t.Fatal(err)
	}
	if f.Low > f.Likely || f.Likely > f.High {
		t.Errorf("not in order: %v, %v, %v", f.Low, f.Likely, f.High)
	}
	return f
}

// 30 chunks of 128 MiB on one of three shards: some twenty moves. Past
// migrations took 10 s each.
func TestTimeToBalance(t *testing.T) {
	s := measured(snaptest.SnapshotOfChunks(t, 3, 30, func(int) (int, int64) { return 0, 128 * mib }), 40, 10*time.Second)
	f := of(t, s, forecast.Options{})
	if f.Never || f.Done || f.Moves < 15 || f.Bytes < 15*128*mib || f.Bytes > 25*128*mib {
		t.Fatalf("%+v", f)
	}
	// One donor: a move a round, of 10 s and 1 s of throttle.
	want := time.Duration(f.Bytes/(128*mib))*10*time.Second + time.Duration(f.Moves)*time.Second
	if f.Likely < want*9/10 || f.Likely > want*11/10+10*time.Second || f.Low > want || f.High < want {
		t.Errorf("%d moves in %v, %v, %v; not %v", f.Moves, f.Low, f.Likely, f.High, want)
	}
}

func TestNothingToDo(t *testing.T) {
	f := of(t, snaptest.SnapshotOfChunks(t, 3, 30, func(i int) (int, int64) { return i % 3, 128 * mib }), forecast.Options{})
	if !f.Done || f.Never || f.High != 0 {
		t.Errorf("%+v", f)
	}
}

// With the balancer off it never ends, and yet is told how long it would take.
func TestSwitchedOff(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 3, 30, func(int) (int, int64) { return 0, 128 * mib })
	off := s.Settings()
	off.Mode = catalog.ModeOff
	f := of(t, s.WithSettings(off), forecast.Options{})
	if !f.Never || !f.AssumesBalancerOn || f.Likely == 0 || len(f.BlockedBy) != 1 || f.BlockedBy[0].Code != diagnosis.BalancerOff {
		t.Errorf("%+v", f)
	}
}

// What takes an hour and a half takes two nights of a window of an hour.
func TestWindow(t *testing.T) {
	s := measured(snaptest.SnapshotOfChunks(t, 2, 120, func(int) (int, int64) { return 0, 128 * mib }), 40, 90*time.Second)
	settings := s.Settings()
	settings.Window = &catalog.Window{Start: 22 * 60, Stop: 23 * 60}
	east := time.FixedZone("+03:00", 3*3600)
	f := of(t, s.WithSettings(settings).WithClock(east), forecast.Options{})
	end := f.At.Add(f.Likely)
	if f.At.Hour() != 15 || end.Hour() != 22 || end.Day() != f.At.Day()+1 {
		t.Errorf("from %v to %v (%d moves)", f.At, end, f.Moves)
	}
}

// Settings that the balancer can't read are refused: it would try to read them for ever.
func TestEmptySettings(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 3, 30, func(int) (int, int64) { return 0, 128 * mib })
	began := time.Now()
	_, err := forecast.Make(s.WithSettings(catalog.Settings{}), forecast.Options{OnProgress: func(sim.Progress) error {
		if time.Since(began) > time.Minute {
			t.Error("it does not end")
			return errors.New("stopped")
		}
		return nil
	}})
	if err == nil || !strings.Contains(err.Error(), "chunk size must be 1 to 1024 MiB, not 0") {
		t.Error(err)
	}
}

func TestDrain(t *testing.T) {
	s := measured(snaptest.SnapshotOfChunks(t, 3, 30, func(i int) (int, int64) { return i % 3, 128 * mib }), 40, 10*time.Second)
	f := of(t, s, forecast.Options{Goal: plan.Goal{Kind: plan.Drain, Shard: "s01"}})
	if f.Never || f.Moves != 10 || f.StuckChunks != 0 || f.Likely < 100*time.Second || f.Likely > 125*time.Second {
		t.Errorf("%+v", f)
	}
}
