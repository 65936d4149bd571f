package pace

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/mongoerr"
)

func TestParseWindow(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ text, want, wrong string }{
		{"22:00-06:00", "22:00-06:00 Europe/Berlin, the time zone of this machine", ""},
		{" 22:00-06:00  UTC ", "22:00-06:00 UTC", ""},
		{"09:30-17:45 America/New_York", "09:30-17:45 America/New_York", ""},
		{"00:00-23:59 +02:00", "00:00-23:59 +02:00", ""},
		{"22:00", "", `"22:00" is not a valid window, such as "22:00-06:00"`},
		{"", "", "is not a valid window"},
		{"22:00-24:00", "", `"24:00" is not a time from 00:00 to 23:59`},
		{"22:00:00-23:00", "", `"22:00:00" is not a time from`},
		{"-1:00-23:00", "", `"" is not a time from`},
		{"22:00-22:00", "", "starts and stops at 22:00: without a window"},
		{"22:00-06:00 Berlin", "", `"Berlin" is not a valid time zone, such as UTC`},
		{"22:00-06:00 Local", "", `"Local" is not a valid time zone`},
	} {
		w, err := ParseWindow(tt.text, berlin)
		switch {
		case tt.wrong != "":
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%q: %v, want %q", tt.text, err, tt.wrong)
			}
		case err != nil || w.String() != tt.want:
			t.Errorf("%q: %v, %v, want %q", tt.text, w, err, tt.want)
		}
	}
}

// Windows go by the zone's clock, over midnight and over changes to summer time.
func TestWindowOpens(t *testing.T) {
	for _, tt := range []struct{ window, now, want string }{
		{"22:00-06:00 UTC", "2026-03-02T21:59:59Z", "2026-03-02T22:00:00Z"},
		{"22:00-06:00 UTC", "2026-03-02T22:00:00Z", "2026-03-02T22:00:00Z"},
		{"22:00-06:00 UTC", "2026-03-03T05:00:00Z", "2026-03-03T05:00:00Z"},
		{"22:00-06:00 UTC", "2026-03-03T06:00:01Z", "2026-03-03T22:00:00Z"},
		{"22:00-06:00 Europe/Berlin", "2026-03-02T20:30:00Z", "2026-03-02T21:00:00Z"},
		{"22:00-06:00 Europe/Berlin", "2026-07-02T19:30:00Z", "2026-07-02T20:00:00Z"},
		{"09:00-17:00 -05:00", "2026-03-02T09:30:00Z", "2026-03-02T14:00:00Z"},
		{"04:00-05:00 Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T02:00:00Z"}, // the night has 23 hours
	} {
		w, err := ParseWindow(tt.window, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		now, _ := time.Parse(time.RFC3339, tt.now)
		if got := w.NextOpen(now).UTC().Format(time.RFC3339); got != tt.want {
			t.Errorf("%s at %s: %s, want %s", tt.window, tt.now, got, tt.want)
		}
	}
}

// windowed is a Gate with a window on a cluster whose clock is an hour ahead.
func windowed(t *testing.T, text string, r Rules, told *[]string) *Gate {
	t.Helper()
	var err error
	if r.Window, err = ParseWindow(text, time.UTC); err != nil {
		t.Fatal(err)
	}
	return NewGate(r, wall{}, WithEvents(func(e Event) { *told = append(*told, e.Text) }),
		WithTime(func(context.Context) (time.Time, error) { return time.Now().Add(time.Hour), nil }))
}

// It waits by the cluster's clock, and tells so once. A bubble begins at midnight.
func TestWaitsForTheWindow(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		var told []string
		g := windowed(t, "22:00-23:30 UTC", Rules{}, &told)
		m := move("a", "b", 1)
		if waited := mustEnter(t, g, m); waited != 21*time.Hour {
			t.Errorf("it waited %s", waited)
		}
		time.Sleep(2 * time.Hour)
		g.Leave(m, nil) // it may end when the window is shut
		if waited := mustEnter(t, g, m); waited != 22*time.Hour {
			t.Errorf("the next one waited %s", waited)
		}
		want := []string{
			"the window 22:00-23:30 UTC opens at 22:00", "continuing after 21h",
			"the window 22:00-23:30 UTC opens at 22:00", "continuing after 22h",
		}
		if !slices.Equal(told, want) {
			t.Errorf("told %q", told)
		}
		if s := g.Stats(); s.Waited[WaitWindow] != 43*time.Hour {
			t.Errorf("%+v", s)
		}
	})
}

// A run that ends before its window opens ends at once.
func TestWindowAfterTheEnd(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		var told []string
		g := windowed(t, "22:00-06:00 +00:00", Rules{MaxTime: 2 * time.Hour}, &told)
		mustEnter(t, g, move("a", "b", 1))
		time.Sleep(6 * time.Hour)
		began := time.Now()
		g = windowed(t, "22:00-06:00 +00:00", Rules{MaxTime: 2 * time.Hour}, &told)
		refused(t, g, move("a", "b", 1),
			"no more moves before the limit of 2h: the window 22:00-06:00 +00:00 opens at 22:00")
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it waited %s", waited)
		}
	})
}

// A router that is away is waited for, and one that refuses is not.
func TestNoAnswer(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		var told []string
		answers := func(after int, err error) *Gate {
			told = nil
			w, _ := ParseWindow("00:00-23:59", time.UTC)
			return NewGate(Rules{Window: w}, wall{}, WithEvents(func(e Event) { told = append(told, e.Text) }),
				WithTime(func(context.Context) (time.Time, error) {
					if after--; after >= 0 {
						return time.Time{}, err
					}
					return time.Now(), nil
				}))
		}
		if waited := mustEnter(t, answers(3, errBroken), move("a", "b", 1)); waited != 15*time.Second {
			t.Errorf("it waited %s", waited)
		}
		if want := []string{"waiting: can't read the cluster's time: EOF", "continuing after 15s"}; !slices.Equal(told, want) {
			t.Errorf("told %q", told)
		}
		for _, never := range []error{errBroken, mongoerr.New(mongoerr.Unauthorized, "no")} {
			if err := answers(1<<30, never).Enter(t.Context(), move("a", "b", 1)); !errors.As(err, new(*OperatorNeededError)) ||
				!errors.Is(err, never) {
				t.Errorf("got %v", err)
			}
		}
	})
}
