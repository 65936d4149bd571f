package wire

import (
	"sync"
	"time"
)

// watchInterval is how often a busy connection is checked. A command
// that is under way at two looks takes long: only then is it worth a goroutine to
// notice that its peer leaves.
const watchInterval = 10 * time.Millisecond

// watch looks at a connection while it is at work. The connection's state guards
// it.
type watch struct {
	timer *time.Timer
	on    bool   // the timer runs
	seen  uint64 // the newest message at the last look
	ended bool
	// hasHelper: there is a second goroutine, which reads the next message and
	// handles it.
	hasHelper bool
	helper    sync.WaitGroup
}

// beginWatch sees to it that a connection with a message is looked at. The caller
// holds the state.
func (c *conn) beginWatch() {
	w := &c.watch
	switch {
	case w.on || w.ended:
		return
	case w.timer == nil:
		w.timer = time.AfterFunc(watchInterval, c.checkLongCommand)
	default:
		w.timer.Reset(watchInterval)
	}
	w.on = true
}

// checkLongCommand starts the second goroutine if the message that was being handled at the last
// look still is. While there are two there is nothing to look for.
func (c *conn) checkLongCommand() {
	c.state.Lock()
	defer c.state.Unlock()
	w := &c.watch
	if w.on = false; c.pending == 0 || w.ended || w.hasHelper {
		return
	}
	if w.seen == c.admitted {
		w.hasHelper = true
		w.helper.Go(c.serveAhead)
		return
	}
	w.seen = c.admitted
	c.beginWatch()
}

// serveAhead reads one message and handles it.
func (c *conn) serveAhead() {
	c.serveNext()
	c.state.Lock()
	defer c.state.Unlock()
	if c.watch.hasHelper = false; c.pending > 0 {
		c.beginWatch()
	}
}

// endWatch waits for the second goroutine, of which there will be no other.
func (c *conn) endWatch() {
	c.state.Lock()
	c.watch.ended = true
	if c.watch.timer != nil {
		c.watch.timer.Stop()
	}
	c.state.Unlock()
	c.watch.helper.Wait()
}
