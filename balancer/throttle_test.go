package balancer

import (
	"encoding/json"
	"testing"
	"time"

	"shardsh/balancer/examples"
	"shardsh/balancer/policy"
)

// throttleCase is a worked example of rules/02-examples-and-traps §9.4, in milliseconds.
type throttleCase struct {
	ID    string
	Trace []struct {
		PickedAt  int64
		Action    string
		Throttled bool
		IssuedAt  int64
	}
}

// Trap 2: both throttles share one clock; measurements neither wait nor move it
// (TH-01).
func TestStreamsTrap02BothThrottlesShareOneClock(t *testing.T) {
	for _, line := range examples.Lines(t, "testdata/streams.jsonl") {
		var c throttleCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.Trace != nil {
			t.Run(c.ID, c.play)
		}
	}
}

func (c throttleCase) play(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(ms int64) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	s := newStreams(NewLoop(Config{Location: time.Local}))
	defer s.Close()
	var issued []time.Duration
	s.begin(func() {
		for _, step := range c.Trace {
			if step.PickedAt > s.now.Sub(start).Milliseconds() {
				s.yield(WaitForWake{Until: at(step.PickedAt)})
			}
			a := policy.StreamAction{Throttled: step.Throttled}
			for a.Kind.String() != step.Action {
				a.Kind++
			}
			s.throttle(a)
			issued = append(issued, s.now.Sub(start))
		}
	})
	for now := start; ; {
		switch step := s.Resume(now, nil).(type) {
		case WaitForWake:
			now = step.Until
			continue
		case Sleep:
			now = step.Until
			continue
		}
		break
	}
	for i, step := range c.Trace {
		if issued[i] != time.Duration(step.IssuedAt)*time.Millisecond {
			t.Errorf("step %d, %s: issued at %v, want %d ms", i+1, step.Action, issued[i], step.IssuedAt)
		}
	}
}
