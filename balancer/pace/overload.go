package pace

import (
	"fmt"
	"time"

	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
)

// overloads counts consecutive commands that overloaded servers have rejected.
type overloads struct {
	inRow int
	since time.Time
	until time.Time
}

// minReportedOverloads is the number of consecutive overload errors after which an event is sent.
const minReportedOverloads = 3

// noteOverload records an overload error, and reports whether err is one.
func (g *Gate) noteOverload(err error) bool {
	if !mongoerr.IsOverloaded(err) {
		return false
	}
	g.eventMu.Lock()
	defer g.eventMu.Unlock()
	if g.countOverload(err) == minReportedOverloads {
		g.onEvent(Event{Reason: WaitOverload, Text: fmt.Sprintf("the cluster is too busy to balance: %v", err)})
	}
	return true
}

// countOverload counts an overload error.
func (g *Gate) countOverload(err error) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	o, now := &g.overloads, g.clock.Now()
	if o.inRow++; o.inRow == 1 {
		o.since = now
	}
	o.until = now.Add(mongoerr.OverloadDelay(err, o.inRow, g.random()))
	return o.inRow
}

// clearOverloads records that a server has executed a command.
func (g *Gate) clearOverloads() {
	g.eventMu.Lock()
	defer g.eventMu.Unlock()
	g.mu.Lock()
	was, spent := g.overloads.inRow, g.clock.Now().Sub(g.overloads.since)
	g.overloads = overloads{}
	g.mu.Unlock()
	if was >= minReportedOverloads {
		g.onEvent(Event{Reason: WaitOverload, WaitEnded: true, Waited: spent,
			Text: fmt.Sprintf("continuing after %s", humanize.Duration(spent))})
	}
}

// overloadObstacle returns the rest of the delay after an overload error. The lock is held.
func (g *Gate) overloadObstacle() *obstacle {
	if left := g.overloads.until.Sub(g.clock.Now()); left > 0 {
		return &obstacle{reason: WaitOverload, left: left}
	}
	return nil
}
