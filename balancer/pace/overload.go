package pace

import (
	"fmt"
	"time"

	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
)

// overloads are the commands in a row that servers have refused because they had too much to do.
type overloads struct {
	inRow int
	since time.Time
	until time.Time
}

// busyInRow is after how many of them somebody is told.
const busyInRow = 3

// overload notes such an error, and reports whether it is one.
func (g *Gate) overload(err error) bool {
	if !mongoerr.IsOverloaded(err) {
		return false
	}
	g.telling.Lock()
	defer g.telling.Unlock()
	if g.refusals(err) == busyInRow {
		g.tell(Event{Reason: Overload, Text: fmt.Sprintf("the cluster is too busy to balance: %v", err)})
	}
	return true
}

// refusals counts one more.
func (g *Gate) refusals(err error) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	o, now := &g.overloads, g.clock.Now()
	if o.inRow++; o.inRow == 1 {
		o.since = now
	}
	o.until = now.Add(mongoerr.OverloadDelay(err, o.inRow, g.chance()))
	return o.inRow
}

// relieved notes that a server has done something.
func (g *Gate) relieved() {
	g.telling.Lock()
	defer g.telling.Unlock()
	g.mu.Lock()
	was, spent := g.overloads.inRow, g.clock.Now().Sub(g.overloads.since)
	g.overloads = overloads{}
	g.mu.Unlock()
	if was >= busyInRow {
		g.tell(Event{Reason: Overload, Over: true, Waited: spent,
			Text: fmt.Sprintf("continuing after %s", humanize.Duration(spent))})
	}
}

// overloaded is what is left of the delay after such an error. The lock is held.
func (g *Gate) overloaded() *obstacle {
	if left := g.overloads.until.Sub(g.clock.Now()); left > 0 {
		return &obstacle{reason: Overload, left: left}
	}
	return nil
}
