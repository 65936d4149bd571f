package pace

import (
	"fmt"
	"maps"
	"time"

	"shardsh/balancer/humanize"
	"shardsh/balancer/policy"
)

// Reason is the reason why a move waits.
type Reason string

// The reasons.
const (
	WaitBetweenMoves Reason = "pause"    // after the last move
	WaitFailures     Reason = "failures" // after failures
	WaitWindow       Reason = "window"
	WaitNoAnswer     Reason = "no answer" // the cluster does not answer
	WaitCondition    Reason = "condition" // the condition of --pause-when holds
	WaitNearLimit    Reason = "limit"     // running moves may reach a limit
	WaitPaused       Reason = "freeze"    // the run is held (WithHold)
	WaitDisk         Reason = "disk"      // the recipient's volume has no room yet
	WaitOverload     Reason = "overload"  // a server rejects commands as overloaded
	// ConditionUnmeasured is not a wait. It reports that no member reports a quantity of the condition.
	ConditionUnmeasured Reason = "notReported"
)

// WaitReasons returns the reasons for which moves wait.
func WaitReasons() []Reason {
	return []Reason{WaitBetweenMoves, WaitFailures, WaitWindow, WaitNoAnswer, WaitCondition, WaitNearLimit, WaitPaused,
		WaitDisk, WaitOverload}
}

// Event says that moves wait, or continue.
type Event struct {
	Reason Reason
	Text   string
	// WaitEnded says that moves continue. Waited is the time for which they waited.
	WaitEnded bool
	Waited    time.Duration
}

// wait records how long moves have waited for a reason.
type wait struct {
	waiters  int // number of waiting moves
	since    time.Time
	total    time.Duration
	reported bool
	text     string // the text of the last event
}

// waitedTime returns the total time of the wait.
func (w *wait) waitedTime(now time.Time) time.Duration {
	if w.waiters > 0 {
		return w.total + now.Sub(w.since)
	}
	return w.total
}

// minReportedFailureWait is the shortest wait after failures that is reported.
const minReportedFailureWait = 10 * time.Second

// startWait begins a wait.
func (g *Gate) startWait(o *obstacle) {
	g.eventMu.Lock()
	defer g.eventMu.Unlock()
	if g.addWaiter(o) {
		g.onEvent(Event{Reason: o.reason, Text: o.text})
	}
}

// changeWait emits an event if the text of a wait has changed.
func (g *Gate) changeWait(o *obstacle) {
	g.eventMu.Lock()
	defer g.eventMu.Unlock()
	g.mu.Lock()
	w := g.waits[o.reason]
	known := w == nil || w.text == o.text
	if !known {
		w.text = o.text
	}
	g.mu.Unlock()
	if !known {
		g.onEvent(Event{Reason: o.reason, Text: o.text})
	}
}

// addWaiter reports whether an event is to be sent for the wait.
func (g *Gate) addWaiter(o *obstacle) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.waits[o.reason]
	if w == nil {
		w = &wait{}
		g.waits[o.reason] = w
	}
	if w.waiters++; w.waiters == 1 {
		w.since = g.clock.Now()
	}
	if w.reported || o.text == "" || o.reason == WaitFailures && o.left < minReportedFailureWait {
		return false
	}
	w.reported, w.text = true, o.text
	return true
}

// finishWait ends a wait, and sends the event that moves continue, if they do.
func (g *Gate) finishWait(r Reason, continues bool) {
	g.eventMu.Lock()
	defer g.eventMu.Unlock()
	if e, told := g.removeWaiter(r); told && continues {
		g.onEvent(e)
	}
}

// removeWaiter reports whether the wait was reported, and has ended for all moves.
func (g *Gate) removeWaiter(r Reason) (e Event, told bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.waits[r]
	if w == nil {
		return e, false
	}
	if w.waiters--; w.waiters > 0 {
		return e, false
	}
	spent := g.clock.Now().Sub(w.since)
	w.total += spent
	told, w.reported = w.reported, false
	text := fmt.Sprintf("continuing after %s", humanize.Duration(spent))
	return Event{Reason: r, WaitEnded: true, Waited: spent, Text: text}, told
}

// Stats are the statistics of a run.
type Stats struct {
	MovedAmount
	// Failures contains the numbers of failures by class.
	Failures map[policy.FailureClass]int
	// Waited is the time that moves have waited, including moves that still wait.
	Waited map[Reason]time.Duration
	// Left is the remaining work. TimeToGo is the estimated time for it, or for the part that the limits of
	// this run permit, at the pace of this run and without the time of a shut window. Both are nil if
	// they are not known; TimeToGo is not known at the beginning.
	Left     *Remaining
	TimeToGo *DurationRange
}

// Stats returns what has happened so far.
func (g *Gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Stats{MovedAmount: g.done, Failures: maps.Clone(g.failures.countByClass), Waited: map[Reason]time.Duration{}}
	for r, w := range g.waits {
		s.Waited[r] = w.waitedTime(g.clock.Now())
	}
	s.Left, s.TimeToGo = g.remaining, g.timeToGo()
	return s
}
