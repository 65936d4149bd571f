package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A run whose moves differ, at a pace that wanders from spell to spell, ends within
// what was said of it about nine times in ten, from the first word on.
func TestTimeToGoHolds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	said, held := 0, 0
	for range 400 {
		const moves = 60
		var sizes, ends [moves]float64
		at, total, load := 0.0, 0.0, 1.0
		for i := range moves {
			if i%10 == 0 {
				load = math.Exp(0.3 * random.NormFloat64())
			}
			sizes[i] = 64 * math.Exp(0.5*random.NormFloat64())
			at += sizes[i] / 8 * load * math.Exp(0.3*random.NormFloat64())
			ends[i], total = at, total+sizes[i]
		}
		var c trajectory
		left := total
		for i := range moves - 1 {
			now := durationOfSeconds(ends[i])
			c.addMark(now, sizes[i])
			left -= sizes[i]
			r, known := c.timeToGo(left, now)
			if known != (i+1 >= minMarks) {
				t.Fatalf("after %d moves in %s: %v", i+1, now, known)
			}
			if known {
				said++
				if truth := durationOfSeconds(at - ends[i]); r.Low <= truth && truth <= r.High {
					held++
				}
			}
		}
	}
	if share := float64(held) / float64(said); share < 0.85 || share > 0.97 {
		t.Errorf("%.3f of the ranges hold", share)
	}
}

// What is said does not hang on how long a run is, and a step that does not end is seen.
func TestCourse(t *testing.T) {
	var c trajectory
	for i := range 1000 {
		c.addMark(time.Duration(i+1)*time.Second, 10)
		if len(c.marks) > maxMarks {
			t.Fatal(len(c.marks))
		}
	}
	r, known := c.timeToGo(1000, 1000*time.Second)
	if !known || r.Low < 50*time.Second || r.Low > 90*time.Second || r.High < 110*time.Second || r.High > 200*time.Second {
		t.Errorf("%v, %v for 100 s", r, known)
	}
	if stalled, _ := c.timeToGo(1000, 4000*time.Second); stalled.Low != r.Low || stalled.High != 400*time.Second {
		t.Errorf("%v after a step of 3000 s", stalled)
	}
	if _, known := c.timeToGo(0, 1000*time.Second); known {
		t.Error("nothing takes time")
	}
	var still trajectory
	for i := range 10 {
		still.addMark(time.Duration(i)*time.Second, 0)
	}
	if r, known := still.timeToGo(5, 10*time.Second); known {
		t.Errorf("nothing was moved, and the rest takes %v", r)
	}
}

// rest returns the time to go of a run of a minute a byte that began before a night, with these further
// rules.
func rest(t *testing.T, r Rules) DurationRange {
	t.Helper()
	time.Sleep(time.Until(time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)))
	window, err := ParseWindow("00:00-00:10 UTC", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	r.Window = window
	if r.MaxBytes == 0 {
		r.MaxTime = 24*time.Hour + 30*time.Minute
	}
	g := NewGate(r, wall{})
	for range 15 {
		m := move("a", "b", 1)
		mustEnter(t, g, m)
		time.Sleep(time.Minute)
		g.Leave(m, nil)
	}
	g.SetRemaining(Remaining{Bytes: 1000, Steps: 1000})
	got := g.Stats().TimeToGo
	if got == nil {
		t.Fatal("the time to go is not known")
	}
	return *got
}

// The time in which a window is shut counts for nothing, and the limits of a run for
// what they leave of it.
func TestTimeToGoOfARun(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		window, err := ParseWindow("00:00-00:10 UTC", time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		g := NewGate(Rules{Window: window, MaxBytes: 100}, wall{})
		for range 15 {
			if got := g.Stats().TimeToGo; got != nil {
				t.Fatalf("%v before anybody knows what is left", got)
			}
			m := move("a", "b", 1)
			mustEnter(t, g, m)
			time.Sleep(time.Minute)
			g.Leave(m, nil)
		}
		g.SetRemaining(Remaining{Bytes: 1000, Steps: 1000})
		got := g.Stats().TimeToGo // 85 bytes at one a minute
		if got == nil || got.Low < 45*time.Minute || got.High > 160*time.Minute {
			t.Errorf("%v for 85 minutes", got)
		}
		g.SetRemaining(Remaining{Steps: 10})
		if got := g.Stats().TimeToGo; got == nil || got.Low < 5*time.Minute || got.High > 19*time.Minute {
			t.Errorf("%v for 10 minutes", got)
		}
	})
}

// The time to go is cut by the limits as the run applies them: jobs have all of their working time, and what
// an earlier run has moved counts.
func TestTimeToGoWithinTheLimits(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		if jobs, run := rest(t, Rules{CountOnlyOpenTime: true}), rest(t, Rules{}); jobs.High <= run.High {
			t.Errorf("a night counts for jobs: %v, and for others %v", jobs, run)
		}
		again := rest(t, Rules{MaxBytes: 100, MovedBefore: MovedAmount{Bytes: 70}})
		if first := rest(t, Rules{MaxBytes: 100}); again.High >= first.High {
			t.Errorf("%v with 70 bytes of an earlier run, %v without", again, first)
		}
	})
}
