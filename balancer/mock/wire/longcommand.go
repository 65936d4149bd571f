package wire

import (
	"sync"
	"time"
)

// watchInterval is the interval at which a busy connection is checked. A command that runs at two
// consecutive checks takes long. Only then is a goroutine that detects a disconnect worth its cost.
const watchInterval = 10 * time.Millisecond

// longCommandWatch is the periodic check of a busy connection. The connection's state lock guards it.
type longCommandWatch struct {
	timer          *time.Timer
	isTimerRunning bool
	seen           uint64 // the newest message at the last check
	ended          bool
	// hasHelper: a second goroutine is running, which reads and handles the next message.
	hasHelper bool
	helper    sync.WaitGroup
}

// beginWatch makes sure that a connection with a message is checked. The caller holds the state lock.
func (c *conn) beginWatch() {
	w := &c.watch
	switch {
	case w.isTimerRunning || w.ended:
		return
	case w.timer == nil:
		w.timer = time.AfterFunc(watchInterval, c.checkLongCommand)
	default:
		w.timer.Reset(watchInterval)
	}
	w.isTimerRunning = true
}

// checkLongCommand starts the second goroutine if the message of the last check is still being handled.
// While there are two goroutines, no check is needed.
func (c *conn) checkLongCommand() {
	c.state.Lock()
	defer c.state.Unlock()
	w := &c.watch
	if w.isTimerRunning = false; c.pending == 0 || w.ended || w.hasHelper {
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

// serveAhead reads and handles one message.
func (c *conn) serveAhead() {
	c.serveNext()
	c.state.Lock()
	defer c.state.Unlock()
	if c.watch.hasHelper = false; c.pending > 0 {
		c.beginWatch()
	}
}

// endWatch waits for the second goroutine and prevents another one.
func (c *conn) endWatch() {
	c.state.Lock()
	c.watch.ended = true
	if c.watch.timer != nil {
		c.watch.timer.Stop()
	}
	c.state.Unlock()
	c.watch.helper.Wait()
}
