package pace

import (
	"fmt"
	"maps"
	"time"

	"shardsh/balancer/humanize"
	"shardsh/balancer/policy"
)

// Reason is why a move waits.
type Reason string

// The reasons.
const (
	Pausing  Reason = "pause"    // after the last move
	Failing  Reason = "failures" // after some
	Shut     Reason = "window"
	NoAnswer Reason = "no answer" // the cluster can't be asked
	Busy     Reason = "condition" // one of those to pause when
	Near     Reason = "limit"     // moves under way may reach it
	Held     Reason = "freeze"    // somebody wants nothing to begin
	NoSpace  Reason = "disk"      // the recipient's volume has no room yet
	Overload Reason = "overload"  // a server refuses what it has no time for
	// Untold is not a wait: it is asked about, and never reported.
	Untold Reason = "untold"
)

// Event tells that moves wait, or go on.
type Event struct {
	Reason Reason
	Text   string
	// Over tells that they go on, Waited for how long they did not.
	Over   bool
	Waited time.Duration
}

// wait is how long moves have waited for a reason.
type wait struct {
	who   int // how many do
	since time.Time
	total time.Duration
	told  bool
	text  string // that was told last
}

// spent is how long that was.
func (w *wait) spent(now time.Time) time.Duration {
	if w.who > 0 {
		return w.total + now.Sub(w.since)
	}
	return w.total
}

// worthTelling is how long a wait after failures lasts of which anybody is told.
const worthTelling = 10 * time.Second

// waiting begins a wait.
func (g *Gate) waiting(o *obstacle) {
	g.telling.Lock()
	defer g.telling.Unlock()
	if g.beginWait(o) {
		g.tell(Event{Reason: o.reason, Text: o.text})
	}
}

// waitsFor tells that a wait goes on for another cause.
func (g *Gate) waitsFor(o *obstacle) {
	g.telling.Lock()
	defer g.telling.Unlock()
	g.mu.Lock()
	w := g.waits[o.reason]
	known := w == nil || w.text == o.text
	if !known {
		w.text = o.text
	}
	g.mu.Unlock()
	if !known {
		g.tell(Event{Reason: o.reason, Text: o.text})
	}
}

// beginWait reports whether the wait is to be told of.
func (g *Gate) beginWait(o *obstacle) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.waits[o.reason]
	if w == nil {
		w = &wait{}
		g.waits[o.reason] = w
	}
	if w.who++; w.who == 1 {
		w.since = g.clock.Now()
	}
	if w.told || o.text == "" || o.reason == Failing && o.left < worthTelling {
		return false
	}
	w.told, w.text = true, o.text
	return true
}

// waited ends a wait, and tells that moves go on, if they do.
func (g *Gate) waited(r Reason, goesOn bool) {
	g.telling.Lock()
	defer g.telling.Unlock()
	if e, told := g.endWait(r); told && goesOn {
		g.tell(e)
	}
}

// endWait reports whether the wait was told of, and is over for all.
func (g *Gate) endWait(r Reason) (e Event, told bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.waits[r]
	if w == nil {
		return e, false
	}
	if w.who--; w.who > 0 {
		return e, false
	}
	spent := g.clock.Now().Sub(w.since)
	w.total += spent
	told, w.told = w.told, false
	text := fmt.Sprintf("continuing after %s", humanize.Duration(spent))
	return Event{Reason: r, Over: true, Waited: spent, Text: text}, told
}

// Stats is what a run has to show for itself.
type Stats struct {
	Done
	// Failures counts them by class.
	Failures map[policy.Failure]int
	// Waited is how long moves have waited, those that still do included.
	Waited map[Reason]time.Duration
	// Left is what is left to do, ToGo how long that takes at the pace of this run, or
	// what its limits let in of it, without the time of a shut window. Both are nil
	// where it is not known, as ToGo is at the beginning.
	Left *Left
	ToGo *Range
}

// Stats returns what has happened so far.
func (g *Gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Stats{Done: g.done, Failures: maps.Clone(g.failures.count), Waited: map[Reason]time.Duration{}}
	for r, w := range g.waits {
		s.Waited[r] = w.spent(g.clock.Now())
	}
	s.Left, s.ToGo = g.left, g.toGo()
	return s
}
