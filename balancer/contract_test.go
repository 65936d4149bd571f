package balancer_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
)

// panicOf is what f panics with, as text; empty when it does not.
func panicOf(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

// A driver that resumes with something else than the answer is told so, and by
// name: it used to look like a shutdown.
func TestAWrongResultNamesTheCall(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer any
	}{{"nothing", nil}, {"another type", 7}} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			loop := balancer.NewLoop(balancer.Config{Location: time.UTC, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			defer loop.Close()
			step, ok := loop.Resume(start, nil).(balancer.Call)
			if !ok || step.Name != "settings" {
				t.Fatalf("the first step is %#v", step)
			}
			loop.Resume(start, tt.answer)
			got := log.String()
			if !strings.Contains(got, `\"settings\"`) || !strings.Contains(got, fmt.Sprintf("%T", tt.answer)) {
				t.Errorf("the log %q does not name the call and the type", got)
			}
		})
	}
}

func TestWrongResultsOfMoves(t *testing.T) {
	f := newFake("a", "b")
	f.add(t, "db.c", 1000, 0)
	var log strings.Builder
	loop := balancer.NewLoop(balancer.Config{Location: time.UTC, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer loop.Close()
	var result any
	for range 100 {
		switch step := loop.Resume(start, result).(type) {
		case balancer.Call:
			result = step.Do(t.Context(), f)
		case balancer.Moves:
			loop.Resume(start, []error{})
			if got := log.String(); !strings.Contains(got, "1 moves") {
				t.Errorf("the log %q does not name the moves", got)
			}
			return
		}
	}
	t.Fatal("no moves")
}

// A thread that is torn down in the middle of an exchange just ends.
func TestClosedInTheMiddleOfACall(t *testing.T) {
	loop := balancer.NewLoop(balancer.Config{Location: time.UTC})
	if _, ok := loop.Resume(start, nil).(balancer.Call); !ok {
		t.Fatal("no call")
	}
	loop.Close()
	if _, ok := loop.Resume(start, nil).(balancer.Stopped); !ok {
		t.Error("a closed loop is not stopped")
	}
}

func TestALocationIsMandatory(t *testing.T) {
	if got := panicOf(func() { balancer.NewLoop(balancer.Config{}) }); !strings.Contains(got, "Location") {
		t.Errorf("panic %q does not name the field", got)
	}
}

// An engine of ours works while the cluster's own balancer is off; the window
// and the auto-merger's own switch are obeyed all the same.
func TestIgnoreMode(t *testing.T) {
	shut := bson.D{{Key: "start", Value: "01:00"}, {Key: "stop", Value: "02:00"}}
	for _, tt := range []struct {
		name     string
		ignore   bool
		balancer bson.D
		merge    bool
		moves    bool
		merges   bool
	}{
		{"mode off is obeyed", false, bson.D{{Key: "mode", Value: "off"}}, true, false, false},
		{"mode off is ignored", true, bson.D{{Key: "mode", Value: "off"}}, true, true, true},
		{"stopped is ignored", true, bson.D{{Key: "stopped", Value: true}}, true, true, true},
		{"a shut window is obeyed", true, bson.D{{Key: "mode", Value: "off"}, {Key: "activeWindow", Value: shut}}, true, false, false},
		{"the auto-merger's switch is obeyed", true, bson.D{{Key: "mode", Value: "off"}}, false, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake("a", "b", "c")
			f.add(t, "db.c", 1000, 0, 0)
			f.settings["balancer"] = tt.balancer
			f.settings["automerge"] = bson.D{{Key: "enabled", Value: tt.merge}}
			loop := balancer.NewLoop(balancer.Config{Location: time.Local, IgnoreMode: tt.ignore})
			driver := balancer.NewEventDriver(f.queue, loop, f)
			driver.Start()
			defer driver.Stop()
			f.advance(time.Minute)
			if moved := len(f.moves) > 0; moved != tt.moves {
				t.Errorf("moved: %v, want %v", moved, tt.moves)
			}
			if merged := len(f.asked) > 0; merged != tt.merges {
				t.Errorf("auto-merger at work: %v, want %v", merged, tt.merges)
			}
		})
	}
}
